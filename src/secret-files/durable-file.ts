/**
 * Writes files that hold a secret, so that under their name there is a whole one or none, whenever the process or the
 * machine ends.
 */
import { randomUUID } from 'node:crypto'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const DRAFT = '.new'

/** A file that is whole on the disk, beside the one that it is to replace. */
export interface Draft {
  readonly path: string
  /** Gives it its name. When this returns, that lasts as well: what follows may rely on it. */
  publish(): Promise<void>
  discard(): Promise<void>
}

/** Writes a file that only its owner can read, and leaves what has its name alone. */
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

/** Does something after which a draft is of no use if it fails. Passes the error through. */
export async function discardingAtFailure(draft: Pick<Draft, 'discard'>, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    await draft.discard()
    throw error
  }
}

/** Writes a file that only its owner can read. When this returns, it is on the disk with its name. */
export async function replaceDurably(path: string, text: string): Promise<void> {
  const draft = await writeDraft(path, text)
  await discardingAtFailure(draft, () => draft.publish())
}

/** Removes what was left behind by a process that ended while it wrote the file. Nobody may be writing it now. */
export async function removeDrafts(path: string): Promise<void> {
  const names = await readdir(dirname(path))
  const drafts = names.filter((name) => name.startsWith(`${basename(path)}.`) && name.endsWith(DRAFT))
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
