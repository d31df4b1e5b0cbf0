/**
 * A real PostgreSQL server for one test file, and as many empty databases on it as the file wants.
 *
 * Stop it in `afterAll`: jest runs that even when tests fail.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { canEnter } from '../../src/embedded-postgres/programs.ts'
import { makeSchema } from './make-schema.ts'
import { queryOnce, TEST_PASSWORD } from './new-database.ts'
import { startPostgresProcess } from './postgres-process.ts'
import { asServerUser, defaultOrigin, findTestPrograms, type PostgresOrigin } from './postgres-programs.ts'
import { databaseUser, giveTo, type SpawnUser } from './system-user.ts'

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
