/**
 * Makes an embedded database with nothing but the schema, as `keyturn migrate` does, once for all tests. That takes
 * seconds, copying takes none.
 *
 * Jest runs this before the tests; `keyturn.ts` copies the folder for servers that start on nothing.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { createRecordingLog } from './log.ts'

/** The variable that says where the folder is. */
const VARIABLE = 'KEYTURN_TEST_NEW_DATABASE'

/** Where the folder is; undefined outside Jest. */
export function newDatabaseFolder(): string | undefined {
  return process.env[VARIABLE]
}

/** Makes the folder. */
export async function setUp(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-new-database-'))
  const database = await openDatabase({ kind: 'embedded', folder, log: createRecordingLog() })
  await migrate(database)
  await database.close()
  process.env[VARIABLE] = folder
}

/** Removes it. */
export async function tearDown(): Promise<void> {
  const folder = newDatabaseFolder()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}
