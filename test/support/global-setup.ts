/** Before all tests: makes the databases of `new-database.ts`. */
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DATABASE_FOLDER } from '../../src/embedded-postgres/database-folder.ts'
import { startEmbeddedDatabase } from './embedded-database.ts'
import { makeSchema } from './make-schema.ts'
import { FOLDER, newDatabaseFolder, TEMPLATE } from './new-database.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'

/** A folder in memory for the files of the tests: making a database makes a thousand files, which takes ten times as long on a disk. */
const MEMORY = '/dev/shm'

/** What the tests may need at once, in bytes. A container often has 64 MiB. */
const LEAST_BYTES = 4 * 1024 ** 3

let memoryFolder: string | undefined

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

/** Puts temporary files there, unless TMPDIR names a folder or memory cannot take them. */
function keepFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || !hasRoom()) return
  memoryFolder = mkdtempSync(join(MEMORY, 'keyturn-tests-'))
  // For the user of PostgreSQL too.
  chmodSync(memoryFolder, 0o755)
  if (canRunPrograms(memoryFolder)) process.env.TMPDIR = memoryFolder
}

/** Removes the folder, and what tests have left there. */
function removeMemoryFolder(): void {
  if (memoryFolder !== undefined) rmSync(memoryFolder, { recursive: true, force: true })
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= LEAST_BYTES
  } catch {
    return false
  }
}

/** Some tests copy the programs of PostgreSQL to the temporary folder. */
function canRunPrograms(folder: string): boolean {
  const program = join(folder, 'program')
  writeFileSync(program, '', { mode: 0o700 })
  try {
    accessSync(program, constants.X_OK)
    return true
  } catch {
    return false
  }
}

// biome-ignore lint/style/noDefaultExport: Jest asks for one.
export default setUp
