/** Atomic, durable writes of files that hold a secret: a crash of the process or the machine leaves the whole file or none. */
import { randomUUID } from 'node:crypto'
import { link, open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const DRAFT = '.new'
const DRAFT_ENDING = /^\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.new$/

/** A whole file on the disk, under a temporary name beside the file that it replaces. */
export interface Draft {
  readonly path: string
  /** Renames it to its final name, durably. */
  publish(): Promise<void>
  discard(): Promise<void>
}

/** Writes a draft that only its owner can read. An existing file under the final name stays as it is. */
export async function writeDraft(path: string, text: string): Promise<Draft> {
  const draft = `${path}.${randomUUID()}${DRAFT}`
  const discard = () => rm(draft, { force: true })
  await discardingAtFailure({ discard }, () => writeDurably(draft, text))
  return {
    path: draft,
    async publish() {
      await rename(draft, path)
      await sync(dirname(path))
    },
    discard,
  }
}

/** Discards a draft if `work` fails. Passes the error through. */
async function discardingAtFailure(draft: Pick<Draft, 'discard'>, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    await draft.discard()
    throw error
  }
}

/** Replaces a file, atomically and durably, with one that only its owner can read. */
export async function replaceDurably(path: string, text: string): Promise<void> {
  const draft = await writeDraft(path, text)
  await discardingAtFailure(draft, () => draft.publish())
}

/**
 * Creates a file that only its owner can read, atomically and durably.
 *
 * It has succeeded once the file has its name. If its draft cannot be removed then, `removeDrafts` does it later; if the folder cannot be
 * synced, a crash of the machine may lose the file.
 *
 * @throws {Error} with the code `EEXIST` if there is one already. Then, as with every error, the file was not created.
 */
export async function createDurably(path: string, text: string): Promise<void> {
  const draft = await writeDraft(path, text)
  // Unlike a renaming, it replaces nothing.
  await discardingAtFailure(draft, () => link(draft.path, path))
  await Promise.allSettled([draft.discard(), sync(dirname(path))])
}

/** Removes drafts of processes that crashed, and no other file. No process may be writing the file. */
export async function removeDrafts(path: string): Promise<void> {
  const names = await readdir(dirname(path))
  const start = basename(path)
  const drafts = names.filter((name) => name.startsWith(start) && DRAFT_ENDING.test(name.slice(start.length)))
  for (const name of drafts) await rm(join(dirname(path), name), { force: true })
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
