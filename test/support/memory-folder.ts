/**
 * A folder in memory for the files of the tests: making a database makes a thousand files, which takes ten times as long on a disk.
 */
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'

/** What the tests may need at once, in bytes. A container often has 64 MiB. */
const LEAST_BYTES = 4 * 1024 ** 3

let folder: string | undefined

/** Puts temporary files there, unless TMPDIR names a folder or memory cannot take them. */
export function keepFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || !hasRoom()) return
  folder = mkdtempSync(join(MEMORY, 'keyturn-tests-'))
  // For the user of PostgreSQL too.
  chmodSync(folder, 0o755)
  if (canRunPrograms(folder)) process.env.TMPDIR = folder
}

/** Removes the folder, and what tests have left there. */
export function removeMemoryFolder(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
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
