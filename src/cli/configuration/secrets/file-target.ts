/**
 * A credentials file, as "keyturn secrets generate --out" writes it: for its owner only, whole or not at all, and never in place of another.
 */
import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDurably, removeDrafts } from '../../../secret-files/durable-file.ts'
import type { SecretTarget } from './secret-target.ts'

/** @param url A `file:` URL. */
export function fileTarget(url: string): SecretTarget {
  const path = fileURLToPath(url)
  return {
    async look() {
      if (await exists(path)) return 'taken'
      await access(dirname(path), constants.W_OK).catch((cause: unknown) => {
        throw new Error(`cannot write into ${dirname(path)}`, { cause })
      })
      return 'empty'
    },
    async handOver(credentials) {
      // Of an apply that was killed: they hold a secret that nothing else has.
      await removeDrafts(path)
      await createDurably(path, `${JSON.stringify(credentials, null, 2)}\n`)
    },
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}
