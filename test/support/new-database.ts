/**
 * Makes an empty embedded database once for all tests. Making one takes PostgreSQL seconds, copying one takes none.
 *
 * Jest runs this before the tests; `keyturn.ts` copies the folder for servers that start on nothing.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'

/** The variable that says where the folder is. */
const VARIABLE = 'KEYTURN_TEST_NEW_DATABASE'

/** Where the folder is; undefined outside Jest. */
export function newDatabaseFolder(): string | undefined {
  return process.env[VARIABLE]
}

/** Makes the folder. */
export async function setUp(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-new-database-'))
  const database = await PGlite.create(`file://${folder}`)
  await database.close()
  process.env[VARIABLE] = folder
}

/** Removes it. */
export async function tearDown(): Promise<void> {
  const folder = newDatabaseFolder()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}
