/**
 * Runs the server as users do, a process of its own that is started through the command line, or in the process of the test.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as timeout } from 'node:timers/promises'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import type { TestGlobals } from './environment.ts'
import { newDatabaseFolder, newPostgresDatabase } from './new-database.ts'
import type { OpenedDatabase, RunOptions, ServerHost } from './server-host.ts'

const MAIN = join(import.meta.dirname, '../../src/cli/keyturn.js')

/** The scope of tokens for the API. */
export const SERVICE_SCOPE = 'openid urn:service:iam:org:project:id:service:aud'

/** How long a server may take to listen, and a command to end, on a machine that is busy with other things, in milliseconds. */
const START_TIMEOUT = 120_000
const RUN_TIMEOUT = 150_000

/** Stopping takes no longer than it must. */
const SETTINGS = { KEYTURN_DRAIN_SECONDS: '0' }

/** The content of `admin.json`. */
export interface AdminCredentials {
  readonly base_url: string
  readonly token_endpoint: string
  readonly client_id: string
  readonly client_secret: string
}

/** A running server. */
export interface Keyturn {
  readonly baseUrl: string
  readonly listenUrl: string
  readonly dataDir: string
  /** Everything that was printed to standard output and standard error so far. */
  output(): { stdout: string; stderr: string }
  admin(): Promise<AdminCredentials>
  /** Stops it. Fails when the server fails to stop. */
  stop(): Promise<unknown>
}

/** A server as a process of its own. */
export interface KeyturnProcess extends Keyturn {
  readonly process: ChildProcess
  /** Stops it and returns the exit code. Once only: a second signal ends one that is stopping. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<number | null>
  /** Ends it with SIGKILL. */
  kill(): Promise<void>
}

/** Settings of a server under test. */
export interface StartOptions {
  /** Variables on top of a free port, no metrics and the data directory. */
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  /**
   * A data directory, which may be empty or missing, with an embedded database unless `env` names another one. Without one a new
   * folder is made, and a new database on the PostgreSQL server of the run.
   */
  readonly dataDir?: string
  /** Whether it makes an embedded database itself, as at a user's first start. Default false: that takes seconds. */
  readonly makesDatabase?: boolean
  /** Whether it leads a process group, to which signals can be sent as a terminal does. */
  readonly leadsGroup?: boolean
  /** A command that runs another one elsewhere, such as in a network namespace. */
  readonly enter?: readonly string[]
}

/** The base URLs of the first servers on PostgreSQL databases: all others must have the same. */
const issuers = new Map<string, string>()

/**
 * Starts a server on a free port, as a process, and waits until it listens. On a PostgreSQL database all servers issue in the name
 * of the first one, unless `env` has a base URL.
 */
export async function startKeyturn(options: StartOptions = {}): Promise<KeyturnProcess> {
  const settings = await settingsFor(options)
  const { leadsGroup = false, args = [], enter = [] } = options
  const child = spawnKeyturn(['serve', ...args], settings.env, { detached: leadsGroup, enter })
  const output = collect(child)
  const exited = once(child, 'exit')
  const closed = once(child, 'close')
  const giveUp = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT)
  const listening = await untilListening(child, output).finally(() => clearTimeout(giveUp))
  return {
    ...settings.started(listening),
    process: child,
    output: () => ({ ...output }),
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      // By then all that it printed has been read.
      await closed
      return child.exitCode
    },
    kill: async () => {
      child.kill('SIGKILL')
      // Its workers have its output too, and live on for a while.
      await exited
    },
  }
}

/**
 * Starts a server like `startKeyturn`, in the process of the test: for tests of what it answers, and not of what the command line
 * or the process does. What it logs is its standard error.
 */
export async function startKeyturnInProcess(
  options: Pick<StartOptions, 'env' | 'dataDir' | 'makesDatabase'> = {},
): Promise<Keyturn> {
  const settings = await settingsFor(options)
  const server = await (await serverHost()).start(settings.env)
  let stopping: Promise<void> | undefined
  return {
    ...settings.started(server),
    output: () => ({ stdout: '', stderr: server.log() }),
    stop: () => {
      stopping ??= server.stop()
      return stopping
    },
  }
}

/** The variables of a server, and what is known about it when it has started. */
async function settingsFor(options: StartOptions) {
  const { KEYTURN_DATABASE_URL: database = '', KEYTURN_BASE_URL: configured } = options.env ?? {}
  const issuer = configured === undefined ? issuers.get(database) : undefined
  const dataDir = options.dataDir ?? (await temporaryFolder())
  const settings = database === '' && !options.makesDatabase ? await newDatabase(options, dataDir) : {}
  const env = {
    ...SETTINGS,
    KEYTURN_LISTEN: '127.0.0.1:0',
    KEYTURN_METRICS_LISTEN: 'off',
    KEYTURN_DATA_DIR: dataDir,
    ...(issuer === undefined ? {} : { KEYTURN_BASE_URL: issuer }),
    ...settings,
    ...options.env,
  }
  const started = ({ listenUrl, baseUrl }: { listenUrl: string; baseUrl: string }) => {
    if (database !== '') issuers.set(database, baseUrl)
    return {
      // Where clients reach this one.
      baseUrl: issuer === undefined ? baseUrl : listenUrl.replace('127.0.0.1', 'localhost'),
      listenUrl,
      dataDir,
      admin: async () =>
        JSON.parse(await readFile(options.env?.KEYTURN_CREDENTIALS ?? join(dataDir, 'admin.json'), 'utf8')),
    }
  }
  return { env, started }
}

/** Runs a command to its end, whatever its exit code. Ends it if it takes too long. */
export async function runKeyturn(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawnKeyturn(args, env)
  const output = collect(child)
  const deadline = new AbortController()
  void timeout(RUN_TIMEOUT, undefined, { signal: deadline.signal, ref: false }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  )
  await once(child, 'close')
  deadline.abort()
  return { code: child.exitCode, ...output }
}

/** Runs a command like `runKeyturn`, in the process of the test: any command but `serve` and `demo`, which wait for signals. */
export async function runKeyturnInProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  options: RunOptions = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return await (await serverHost()).run(args, env, options)
}

/** Opens the database of a server in the process of the test. Whoever opens it closes it. */
export async function openServedDatabase(url: string, masterKeys: string): Promise<OpenedDatabase> {
  return await (await serverHost()).openDatabase(url, masterKeys)
}

function serverHost(): Promise<ServerHost> {
  return (globalThis as unknown as TestGlobals).loadServerHost()
}

/** A database without an instance, as the settings of a server that has none yet. */
async function newDatabase({ dataDir, env }: StartOptions, folder: string): Promise<Record<string, string>> {
  if (dataDir === undefined) {
    const settings = { KEYTURN_DATABASE_URL: await newPostgresDatabase() }
    if (Object.keys(env ?? {}).some((name) => name.startsWith('KEYTURN_MASTER_KEYS'))) return settings
    // Where a server with an embedded database keeps the key that it makes.
    const file = join(folder, 'master.key')
    await writeFile(file, generateMasterKey(), { mode: 0o600 })
    return { ...settings, KEYTURN_MASTER_KEYS_FILE: file }
  }
  const template = newDatabaseFolder()
  const database = join(folder, basename(template ?? ''))
  // The synchronous way takes half as long.
  if (template !== undefined && !existsSync(database)) cpSync(template, database, { recursive: true })
  return {}
}

/** A new empty folder below the system's temporary one. */
export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'keyturn-test-'))
}

/** Removes a folder that a test has made. */
export async function removeFolder(folder: string): Promise<void> {
  // The database of a server that was killed ends a moment later.
  await rm(folder, { recursive: true, force: true, maxRetries: 20 })
}

/** Stops servers, those that have started, and removes their folders. */
export async function removeServers(...servers: (Keyturn | undefined)[]): Promise<void> {
  for (const server of servers) {
    await server?.stop()
    if (server !== undefined) await removeFolder(server.dataDir)
  }
}

/** Gets an access token with the secret in the body. */
export async function requestToken(
  { token_endpoint, client_id, client_secret }: AdminCredentials,
  scope = SERVICE_SCOPE,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const response = await fetch(token_endpoint, { method: 'POST', body, headers })
  const answer = (await response.json()) as { access_token?: string }
  if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`)
  return answer.access_token
}

/** Starts a command and leaves it to the caller to end it. */
export function spawnKeyturn(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  {
    enter = [],
    ...options
  }: {
    readonly detached?: boolean
    readonly uid?: number
    readonly gid?: number
    readonly enter?: readonly string[]
  } = {},
): ChildProcess {
  const [program = '', ...rest] = [...enter, process.execPath, MAIN, ...args]
  // Nothing of the surrounding environment may configure the server under test.
  return spawn(program, rest, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...SETTINGS, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  })
}

/** Collects what a process prints from now on. */
export function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text
  })
  return output
}

function untilListening(
  child: ChildProcess,
  output: { stdout: string; stderr: string },
): Promise<{ listenUrl: string; baseUrl: string }> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const match = /^Keyturn listens on (\S+) \(base URL (\S+)\)\.$/m.exec(output.stdout)
      if (match?.[1] !== undefined && match[2] !== undefined) resolve({ listenUrl: match[1], baseUrl: match[2] })
    }
    child.stdout?.on('data', look)
    child.once('close', (code) => {
      reject(new Error(`the server ended with exit code ${code} before it listened:\n${output.stdout}${output.stderr}`))
    })
  })
}
