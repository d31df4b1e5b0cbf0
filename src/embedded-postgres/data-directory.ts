/**
 * Keeps a data directory to one process at a time.
 *
 * The lock is a file that SQLite holds exclusively. The kernel owns such a lock and drops it when the process dies,
 * however it dies, while a file with a process id stays behind and names, sooner or later, someone else. Node cannot
 * take a file lock itself; its SQLite can.
 *
 * Nothing else may open the file: a process loses its POSIX locks on a file when it closes any descriptor of it.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const LOCK_FILE = 'lock'
const SQLITE_BUSY = 5

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
  let lock: DatabaseSync | undefined
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = join(folder, LOCK_FILE)
    // SQLite would make it readable for other users, who could then hold a shared lock.
    if (!existsSync(file)) writeFileSync(file, '', { mode: 0o600 })
    lock = new DatabaseSync(file, { timeout: 0 })
    // In the journal mode WAL an exclusive transaction would let readers in.
    lock.exec('pragma journal_mode = delete; begin exclusive')
  } catch (cause) {
    lock?.close()
    throw new Error(`the data directory ${folder} ${problemOf(cause)} or choose another directory`, { cause })
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

function problemOf(error: unknown): string {
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown }
  if (errcode === SQLITE_BUSY) return 'is in use by another process: stop that process'
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'is not a directory: remove the file'
  return 'cannot be written: give this user write access'
}
