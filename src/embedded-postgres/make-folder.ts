/**
 * Makes folders that only their owner can enter.
 *
 * Node's recursive `mkdir` never returns where the system says that a folder is missing although its parent exists, as below /proc.
 */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

const OWNER_ONLY = 0o700

/** Makes a folder, with those above it, unless it is there. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await makeOne(path)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (!isMissing || dirname(path) === path) throw error
    await makeFolder(dirname(path))
    await makeOne(path)
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, OWNER_ONLY)
  } catch (error) {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory() !== true) throw error
  }
}
