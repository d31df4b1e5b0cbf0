/**
 * A real PostgreSQL server for one test file, and as many empty databases on it as the file wants.
 *
 * Stop it in `afterAll`: jest runs that even when tests fail.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { canEnter } from '../../src/embedded-postgres/programs.ts'
import { freePort } from './free-port.ts'
import { makeSchema } from './make-schema.ts'
import { queryOnce, TEST_PASSWORD } from './new-database.ts'
import {
  asServerUser,
  defaultOrigin,
  findTestPrograms,
  type PostgresOrigin,
  type PostgresPrograms,
} from './postgres-programs.ts'
import { databaseUser, giveTo, type SpawnUser } from './system-user.ts'

const INITDB = ['-U', 'postgres', '-A', 'password', '-N', '-E', 'UTF8', '--lc-messages=C']
// Four test files at a time, with up to six servers of eleven connections each.
const FLAGS = [
  'fsync=off',
  'full_page_writes=off',
  'unix_socket_directories=',
  'max_connections=500',
  'listen_addresses=127.0.0.1',
]
const ATTEMPTS = 3
const run = promisify(execFile)

/** A running server. */
export interface TestPostgres {
  /** Makes a database and returns its URL. It is empty, unless it is a copy of another one, which must not be in use. */
  createDatabase(template?: string): Promise<string>
  /** Makes a database with nothing but the schema, as `keyturn migrate` does, and returns its URL. The second one takes no time. */
  createMigratedDatabase(): Promise<string>
  /** Runs SQL as the administrator, in the database `postgres` unless a URL is given. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[], url?: string): Promise<Row[]>
  /** Ends the server and removes its files. May be called twice. */
  stop(): Promise<void>
}

/** Which server. Default: see `defaultOrigin`. */
export interface PostgresVersion {
  readonly version?: PostgresOrigin
}

/** Starts a server in a temporary folder, as the user `postgres` (who is created) when the tests run as root. */
export async function startPostgres({ version = defaultOrigin() }: PostgresVersion = {}): Promise<TestPostgres> {
  const user = await databaseUser()
  const folder = await createFolder(user)
  const start = async () => {
    const programs = await findTestPrograms(version, user, folder)
    return await startPostgresProcess(programs, user, folder)
  }
  const removeFolder = () => rm(folder, { recursive: true, force: true })
  const server = await start().catch(async (error: unknown) => {
    await removeFolder()
    throw error
  })
  let databases = 0
  let template: Promise<string> | undefined
  let stopping: Promise<void> | undefined

  const urlOf = (database: string) => `postgresql://postgres:${TEST_PASSWORD}@127.0.0.1:${server.port}/${database}`
  const query: TestPostgres['query'] = (text, values = [], url = urlOf('postgres')) => queryOnce(url, text, values)
  const createDatabase = async (from = 'template1') => {
    databases += 1
    const name = `keyturn_${databases}`
    await query(`create database ${name} template ${from} strategy file_copy`)
    return urlOf(name)
  }
  const makeTemplate = async () => {
    const url = await createDatabase()
    await makeSchema(url)
    return new URL(url).pathname.slice(1)
  }
  const stop = async () => {
    await server.stop()
    await removeFolder()
  }

  return {
    query,
    createDatabase,
    createMigratedDatabase: async () => {
      template ??= makeTemplate()
      return await createDatabase(await template)
    },
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}

async function createFolder(user: SpawnUser): Promise<string> {
  const serverUser = asServerUser(user)
  if (serverUser !== null && !(await canEnter(serverUser, tmpdir()))) {
    throw new Error(
      'the tests run as root, so PostgreSQL runs as the user postgres, who cannot enter ' +
        `${tmpdir()}: let TMPDIR name another folder, or run the tests as another user`,
    )
  }
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-postgres-'))
  await giveTo(user, folder)
  return folder
}

/** Starts a server as a child process, on a free port and as this user. Stopping it leaves the folder, which is the user's, to the caller. */
async function startPostgresProcess(programs: PostgresPrograms, owner: SpawnUser, folder: string) {
  const passwordFile = join(folder, 'password')
  const data = join(folder, 'data')
  await writeFile(passwordFile, TEST_PASSWORD)
  await giveTo(owner, passwordFile)
  const initdb = ['-D', data, '--pwfile', passwordFile, ...INITDB]
  await run(programs.initdb, initdb, { ...owner, cwd: folder })
  await rm(passwordFile)

  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const args = ['-D', data, '-p', String(port), ...FLAGS.flatMap((flag) => ['-c', flag])]
    const child = spawn(programs.postgres, args, { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    await once(child, 'spawn')
    const exited = once(child, 'exit')
    const stop = async () => {
      // Fast: connections that are open are cut.
      child.kill('SIGINT')
      await exited
    }
    const output = await untilReady(child)
    if (child.exitCode === null) return { stop, port }
    // Another process may have taken the port since it was free.
    if (attempt < ATTEMPTS && output.includes('could not bind')) continue
    throw new Error(`PostgreSQL did not start:\n${output}`)
  }
}

/** What the server said until it takes connections or ends. */
function untilReady(child: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve) => {
    let output = ''
    child.stderr?.on('data', (chunk) => {
      output += chunk
      if (output.includes('ready to accept connections')) resolve(output)
    })
    child.once('close', () => resolve(output))
  })
}
