/**
 * Servers and commands in the process of the tests. Loaded outside the modules of the test files, see `environment.ts`: what goes in and out
 * is plain data, functions and promises.
 */
import { PassThrough, Readable, Writable } from 'node:stream'
import { run } from '../../src/cli/run.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { openIntegrity } from '../../src/crypto/integrity-key.ts'
import { parseMasterKeys } from '../../src/crypto/master-keys.ts'
import type { Integrity } from '../../src/domain/integrity.ts'
import { startServer } from '../../src/server/server.ts'
import { createSealedKeyStore } from '../../src/storage/keys/sealed-key-store.ts'
import { type Database, openDatabase } from '../../src/storage/postgres/database.ts'
import { createLog } from '../../src/telemetry/log/log.ts'
import { LogOutput } from '../../src/telemetry/log/log-output.ts'
import { createRecordingLog } from './log.ts'
import { hashSecretsWith, type Seeds, seedsOf } from './seed.ts'

/** How long the last lines of a log may take, in milliseconds. */
const LOG_GRACE = 1_000

/** A server in this process. */
export interface HostedServer {
  readonly baseUrl: string
  readonly listenUrl: string
  /** The lines that it has logged so far. */
  log(): string
  /** Stops it like SIGTERM. */
  stop(): Promise<void>
}

/** What a command did. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** How to run a command. */
export interface RunOptions {
  /**
   * What is typed at a terminal, and then the end of the input: a text at once, or a line at each question. By default there is no
   * terminal.
   */
  readonly typed?: string | readonly string[]
  /** Standard input that is no terminal. */
  readonly piped?: string
  /** Which output streams are terminals. Default: none, so that there are no colours. */
  readonly terminals?: { readonly stdout: boolean; readonly stderr: boolean }
  /** Interrupts it. */
  readonly signal?: AbortSignal
}

/** The database of a server, for what cannot be done over its API. */
export interface OpenedDatabase {
  readonly database: Database
  /** What the server believes rows by. */
  readonly integrity: Integrity
  /** Their secrets are good for the server. */
  readonly seed: Seeds
}

/** Starts servers and runs commands. */
export interface ServerHost {
  /** Starts one with these variables, and with nothing of the environment. */
  start(environment: Readonly<Record<string, string>>): Promise<HostedServer>
  /** Runs a command with these variables and nothing of the environment. What it logs is on its standard error. */
  run(argv: readonly string[], environment: Readonly<Record<string, string>>, options?: RunOptions): Promise<Ended>
  /** Opens the database of a server that has started with these master keys. Whoever opens it closes it. */
  openDatabase(url: string, masterKeys: string): Promise<OpenedDatabase>
}

export const SERVER_HOST: ServerHost = {
  start: async (environment) => {
    const config = readConfig({}, environment)
    const printed = collector()
    const output = new LogOutput(printed.stream)
    const log = createLog(config.logLevel, output)
    const server = await withTelemetryVariables(environment, () => startServer(config, log))
    return {
      baseUrl: server.baseUrl,
      listenUrl: server.listenUrl,
      log: () => {
        output.flush()
        return printed.text()
      },
      stop: async () => {
        await server.stop({ drains: true })
        await log.written(LOG_GRACE)
      },
    }
  },
  run: async (argv, env, { typed, piped = '', terminals, ...surroundings } = {}) => {
    const { stdin, answer } = inputOf(typed ?? piped)
    const [stdout, stderr] = [collector(), collector(answer)]
    const code = await run(argv, {
      stdout: Object.assign(stdout.stream, { isTTY: terminals?.stdout === true }),
      stderr: Object.assign(stderr.stream, { isTTY: terminals?.stderr === true }),
      stdin,
      isTerminal: typed !== undefined,
      ...surroundings,
      env,
    })
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  },
  openDatabase: async (url, masterKeys) => {
    const database = openDatabase({ url, log: createRecordingLog() })
    const sealed = await createSealedKeyStore(database).integrityKey()
    const integrity = await openIntegrity(sealed!, parseMasterKeys(masterKeys))
    hashSecretsWith(database, integrity)
    return { database, integrity, seed: seedsOf(database) }
  },
}

/** Standard input, and what has to be called with each text on standard error: it answers questions. */
function inputOf(typed: string | readonly string[]): { stdin: Readable; answer: (text: string) => void } {
  if (typeof typed === 'string') return { stdin: Readable.from([typed]), answer: () => {} }
  const stdin = new PassThrough()
  const left = [...typed]
  const answer = (text: string): void => {
    if (!/(?:\[y\/N\]|:) $/.test(text)) return
    const line = left.shift()
    if (line === undefined) stdin.end()
    else stdin.write(`${line}\n`)
  }
  return { stdin, answer }
}

/**
 * Gives this process the variables of OpenTelemetry for the time of a start: its SDK reads them there. Starts with different
 * ones follow each other.
 */
async function withTelemetryVariables<T>(
  environment: Readonly<Record<string, string>>,
  start: () => Promise<T>,
): Promise<T> {
  const variables = Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith('OTEL_')))
  Object.assign(process.env, variables)
  try {
    return await start()
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name]
  }
}

/** A stream that keeps what is written to it. @param onText Called with each text. */
function collector(onText: (text: string) => void = () => {}) {
  let text = ''
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      text += chunk
      onText(String(chunk))
      done()
    },
  })
  return { stream, text: () => text }
}
