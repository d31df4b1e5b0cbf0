/**
 * Databases with nothing but the schema, as `keyturn migrate` makes it, for servers that start on nothing: one on a PostgreSQL
 * server of the whole run, which is copied there, and one embedded, whose folder is copied.
 *
 * Jest makes both once, before the tests: making the schema takes seconds, copying takes none.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { DATABASE_FOLDER } from '../../src/embedded-postgres/database-folder.ts'
import { startEmbeddedDatabase } from './embedded-database.ts'
import { makeSchema } from './make-schema.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'

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
  const template = new URL(process.env[TEMPLATE] ?? '')
  const name = `new_${crypto.randomUUID().replaceAll('-', '')}`
  const client = new pg.Client({ connectionString: withDatabase(template, 'postgres') })
  await client.connect()
  try {
    await client.query(`create database ${name} template ${template.pathname.slice(1)}`)
  } finally {
    await client.end()
  }
  return withDatabase(template, name)
}

/** Makes both. */
export async function setUp(): Promise<void> {
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
  await postgres?.stop()
  const folder = dataDirectory()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
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
