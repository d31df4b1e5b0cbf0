/**
 * Opens the embedded database in a folder, and sees to it that a disk that is too full does no damage.
 */
import { readdir, rm, statfs } from 'node:fs/promises'
import { EmbeddedSession } from './embedded-session.ts'
import { makeFolder } from './make-folder.ts'

const MEBIBYTE = 1024 * 1024

/** Free bytes without which it is not tried: a new database takes 40 MiB, recovery up to two more files of 16 MiB. */
const NEEDED_FOR_NEW = 64 * MEBIBYTE
const NEEDED_TO_RECOVER = 32 * MEBIBYTE

/**
 * Opens the database in a folder, which is created if it is missing.
 *
 * @throws {Error} that names the folder and says why. A database that could not be made leaves nothing behind.
 */
export async function openFolder(folder: string): Promise<EmbeddedSession> {
  return await naming(folder, async () => {
    await makeFolder(folder)
    if (!(await isEmpty(folder))) return await openThere(folder)
    await assertSpace(folder, NEEDED_FOR_NEW)
    try {
      return await EmbeddedSession.open(`file://${folder}`)
    } catch (error) {
      // Half a database would be taken for one at the next start.
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  })
}

/**
 * Opens the database in a folder in which there has been one already: a new one in its place would have none of its data.
 *
 * @throws {Error} that names the folder and says why.
 */
export async function reopenFolder(folder: string): Promise<EmbeddedSession> {
  return await naming(folder, async () => {
    if (await isEmpty(folder)) throw new Error('there is no database in it any more')
    return await openThere(folder)
  })
}

async function openThere(folder: string): Promise<EmbeddedSession> {
  await assertSpace(folder, NEEDED_TO_RECOVER)
  return await EmbeddedSession.open(`file://${folder}`)
}

async function isEmpty(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true
    throw error
  }
}

async function naming<T>(folder: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`the embedded database in ${folder} cannot be opened: ${reason}`, { cause: error })
  }
}

async function assertSpace(folder: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize >= needed) return
  const [free, wanted] = [bavail * bsize, needed].map((bytes) => Math.floor(bytes / MEBIBYTE))
  throw new Error(`the disk is full: ${free} MiB are free, and ${wanted} MiB are needed`)
}
