/**
 * Keeps a data directory to one process at a time.
 *
 * The lock is a file that SQLite holds exclusively. The kernel owns such a lock and drops it when the process dies,
 * however it dies, while a file with a process id stays behind and names, sooner or later, someone else. Node cannot
 * take a file lock itself; its SQLite can.
 *
 * Nothing else may open the file: a process loses its POSIX locks on a file when it closes any descriptor of it.
 */
import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const LOCK_FILE = 'lock'
const SQLITE_BUSY = 5

/** A data directory that belongs to this process. */
export interface DataDirectoryLock {
  /** Lets other processes have it. The end of the process does so too. */
  release(): void
}

/**
 * Takes a data directory, which is created with mode 0700 if it is missing.
 *
 * @throws {Error} if another process has it, if it is not a directory, or if this process may not write in it. The
 * message names the directory and what to do.
 */
export async function lockDataDirectory(folder: string): Promise<DataDirectoryLock> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unusable(folder, error)
  }

  let lock: DatabaseSync | undefined
  try {
    const file = join(folder, LOCK_FILE)
    makeLockFile(file)
    lock = new DatabaseSync(file, { timeout: 0 })
    // In the journal mode WAL an exclusive transaction would let readers in.
    lock.exec('pragma journal_mode = delete; begin exclusive')
  } catch (error) {
    lock?.close()
    throw unusable(folder, error)
  }
  const held = lock
  const release = (): void => {
    process.off('exit', release)
    if (held.isOpen) held.close()
  }
  // Holds on to the lock even if the caller does not: the garbage collector would close it.
  process.on('exit', release)
  return { release }
}

/** SQLite would make it readable for other users, who could then hold a shared lock. */
function makeLockFile(path: string): void {
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function unusable(folder: string, cause: unknown): Error {
  const { code, errcode } = cause as { readonly code?: unknown; readonly errcode?: unknown }
  if (errcode === SQLITE_BUSY) {
    return new Error(
      `the data directory ${folder} is in use by another process: stop that process or choose another directory`,
      { cause },
    )
  }
  if (code === 'EEXIST' || code === 'ENOTDIR') {
    return new Error(`the data directory ${folder} is not a directory: remove the file or choose another directory`, {
      cause,
    })
  }
  return new Error(
    `the data directory ${folder} cannot be written: give this user write access or choose another directory`,
    { cause },
  )
}
