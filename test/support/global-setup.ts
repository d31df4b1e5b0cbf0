/** Before all tests: makes the databases of `new-database.ts`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DATABASE_FOLDER } from '../../src/embedded-postgres/database-folder.ts'
import { startEmbeddedDatabase } from './embedded-database.ts'
import { makeSchema } from './make-schema.ts'
import { keepFilesInMemory, removeMemoryFolder } from './memory-folder.ts'
import { FOLDER, newDatabaseFolder, TEMPLATE } from './new-database.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'

let postgres: TestPostgres | undefined

/** Unless the process that started this one has: then they are its to remove. */
export async function setUp(): Promise<void> {
  if (newDatabaseFolder() !== undefined) return
  keepFilesInMemory()
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-new-database-'))
  process.env[FOLDER] = join(folder, DATABASE_FOLDER)
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
  const folder = newDatabaseFolder()
  if (folder !== undefined) await rm(dirname(folder), { recursive: true, force: true })
  removeMemoryFolder()
}

// biome-ignore lint/style/noDefaultExport: Jest asks for one.
export default setUp
