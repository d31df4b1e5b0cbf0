/**
 * Databases with nothing but the schema, as `keyturn migrate` makes it, for servers that start on nothing: one on a PostgreSQL
 * server of the whole run, which is copied there, and one embedded, whose folder is copied.
 *
 * `global-setup.ts` makes both once, before the tests: making the schema takes seconds, copying takes none.
 */
import pg from 'pg'
import type { TestPostgres } from './postgres.ts'

/** The variables that say where the embedded database and the one on PostgreSQL are. */
export const FOLDER = 'KEYTURN_TEST_NEW_DATABASE'
export const TEMPLATE = 'KEYTURN_TEST_NEW_POSTGRES_DATABASE'

/** The password of the test server, to be looked for in texts where it must not be. */
export const TEST_PASSWORD = 'correct-horse-battery'

/** Where the embedded one is; undefined outside Jest. */
export function newDatabaseFolder(): string | undefined {
  return process.env[FOLDER]
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

/** Runs SQL on a connection of its own. */
export async function queryOnce<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  // Of a connection that is cut its query tells.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

function withDatabase(server: URL, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
