/**
 * Databases with nothing but the schema, as `keyturn migrate` makes it, for servers that start on nothing: one on a PostgreSQL
 * server of the whole run, which is copied there, and one embedded, whose folder is copied.
 *
 * Jest makes both once, before the tests: making the schema takes seconds, copying takes none.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DATABASE_FOLDER } from '../../src/embedded-postgres/database-folder.ts'
import { startEmbeddedDatabase } from './embedded-database.ts'
import { makeSchema } from './make-schema.ts'
import { keepFilesInMemory, removeMemoryFolder } from './memory-folder.ts'
import { queryOnce, startPostgres, type TestPostgres } from './postgres.ts'

/** The variables that say where the embedded database and the one on PostgreSQL are. */
const FOLDER = 'KEYTURN_TEST_NEW_DATABASE'
const TEMPLATE = 'KEYTURN_TEST_NEW_POSTGRES_DATABASE'

let postgres: TestPostgres | undefined

/** Where the folder of the embedded one is; undefined outside Jest. */
export function newDatabaseFolder(): string | undefined {
  const folder = dataDirectory()
  return folder === undefined ? undefined : join(folder, DATABASE_FOLDER)
}

/** Makes a database on the PostgreSQL server of the run, and returns its URL. It goes with the server. */
export async function newPostgresDatabase(): Promise<string> {
  return await sharedPostgres().createMigratedDatabase()
}

/**
 * Databases of one test file on the PostgreSQL server of the run, for tests that neither configure nor stop a server, nor create
 * roles. Stopping it deletes them.
 */
export function sharedPostgres(): TestPostgres {
  const migrated = new URL(process.env[TEMPLATE] ?? '')
  const urlOf = (name: string) => withDatabase(migrated, name)
  const query: TestPostgres['query'] = (text, values = [], url = urlOf('postgres')) => queryOnce(url, text, values)
  const created: string[] = []
  const createDatabase = async (from = 'template1') => {
    const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
    await query(`create database ${name} template ${from} strategy file_copy`)
    created.push(name)
    return urlOf(name)
  }
  return {
    query,
    createDatabase,
    createMigratedDatabase: () => createDatabase(migrated.pathname.slice(1)),
    stop: async () => {
      for (const name of created.splice(0)) await query(`drop database ${name} with (force)`)
    },
  }
}

/** Makes both, unless the process that started this one has: then they are its to remove. */
export async function setUp(): Promise<void> {
  if (dataDirectory() !== undefined) return
  keepFilesInMemory()
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-new-database-'))
  process.env[FOLDER] = folder
  const embedded = await startEmbeddedDatabase(folder)
  await makeSchema(embedded.url)
  await embedded.stop()
  postgres = await startPostgres()
  process.env[TEMPLATE] = await postgres.createMigratedDatabase()
}

/** Removes both, and the server. */
export async function tearDown(): Promise<void> {
  if (postgres === undefined) return
  await postgres.stop()
  const folder = dataDirectory()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  removeMemoryFolder()
}

/** Of the embedded one. */
function dataDirectory(): string | undefined {
  return process.env[FOLDER]
}

function withDatabase(server: URL, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
