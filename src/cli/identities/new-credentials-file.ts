/**
 * A new credentials file for a user, readable by its owner only.
 */
import { type FileHandle, open, unlink } from 'node:fs/promises'
import type { Credentials } from '../../secret-files/credentials-file.ts'

/** An empty file that this process has created. */
export interface ReservedFile {
  write(credentials: Credentials): Promise<void>
  /** Removes it. */
  discard(): Promise<void>
}

/**
 * Creates the file before a secret is generated, so that no secret is lost because the file cannot be written.
 *
 * @throws {Error} if there is a file of that name already: it may hold the only copy of another secret.
 */
export async function reserveCredentialsFile(path: string): Promise<ReservedFile> {
  const file = await openNew(path)
  return {
    async write(credentials) {
      await file.writeFile(`${JSON.stringify(credentials, null, 2)}\n`)
      await file.sync()
      await file.close()
    },
    async discard() {
      await file.close()
      await unlink(path)
    },
  }
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (cause) {
    const code = codeOf(cause)
    throw new Error(
      code === 'EEXIST'
        ? `${path} is there already: nothing was generated; name a new file`
        : `cannot write ${path} (${code}): nothing was generated`,
      { cause },
    )
  }
}

/** The error code of the system, such as `ENOSPC`. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
