/**
 * Servers and commands in the process of the tests. Loaded outside the modules of the test files, see `environment.ts`: what goes in and out
 * is plain data, functions and promises.
 */
import { PassThrough, Writable } from 'node:stream'
import { run } from '../../src/cli/run.ts'
import { readConfig } from '../../src/config/config.ts'
import { startServer } from '../../src/server/server.ts'
import { createLog } from '../../src/telemetry/log/log.ts'
import { LogOutput } from '../../src/telemetry/log/log-output.ts'

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

/** Starts servers and runs commands. */
export interface ServerHost {
  /** Starts one with these variables, and with nothing of the environment. */
  start(environment: Readonly<Record<string, string>>): Promise<HostedServer>
  /** Runs a command with these variables and nothing of the environment, without a terminal unless there are answers. */
  run(argv: readonly string[], environment: Readonly<Record<string, string>>, input?: CommandInput): Promise<Ended>
}

/** What a command reads. */
export interface CommandInput {
  /** What is typed at a terminal, a line at each question. After the last one the input ends. */
  readonly answers?: readonly string[]
  /** Standard input that is no terminal. */
  readonly stdin?: string
}

export const SERVER_HOST: ServerHost = {
  start: async (environment) => {
    const config = readConfig({}, environment)
    const printed = collector()
    const output = new LogOutput(printed.stream)
    const log = createLog(config.logLevel, output)
    const server = await startServer(config, log)
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
  run: async (argv, env, { answers, stdin: piped = '' } = {}) => {
    const stdin = new PassThrough()
    if (answers === undefined) stdin.end(piped)
    const left = [...(answers ?? [])]
    const answer = (text: string) => {
      if (answers === undefined || !/(?:\[y\/N\]|:) $/.test(text)) return
      const line = left.shift()
      if (line === undefined) stdin.end()
      else stdin.write(`${line}\n`)
    }
    const [stdout, stderr] = [collector(), collector(answer)]
    const isTerminal = answers !== undefined
    const code = await run(argv, {
      stdout: stdout.stream,
      stderr: stderr.stream,
      stdin,
      isTerminal,
      terminals: { stdout: isTerminal, stderr: isTerminal },
      env,
    })
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  },
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
