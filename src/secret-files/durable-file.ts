/** Atomic, durable writes of files that hold a secret: a crash of the process or the machine leaves the whole file or none. */
import { randomUUID } from 'node:crypto'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces a file, atomically and durably, with one that only its owner can read. */
export async function replaceDurably(path: string, text: string): Promise<void> {
  await publish(path, text, rename)
  await sync(dirname(path))
}

/**
 * Creates a file that only its owner can read, atomically and durably.
 *
 * It has succeeded once the file has its name: if the folder cannot be synced, a crash of the machine may lose the file.
 *
 * @throws {Error} with the code `EEXIST` if there is one already. Then, as with every error, the file was not created.
 */
export async function createDurably(path: string, text: string): Promise<void> {
  // Unlike a renaming, it replaces nothing.
  await publish(path, text, link)
  await sync(dirname(path)).catch(() => {})
}

/** Writes a draft beside the file, and gives it the name of the file. A process that is killed may leave its draft. */
async function publish(
  path: string,
  text: string,
  name: (draft: string, path: string) => Promise<void>,
): Promise<void> {
  const draft = `${path}.${randomUUID()}.keyturn-draft`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await name(draft, path)
  } finally {
    await rm(draft, { force: true }).catch(() => {})
  }
}

async function sync(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
