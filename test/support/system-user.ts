/**
 * The user that database programs run as: they refuse to be root, so then it is `postgres`, who is made if need be.
 */
import { execFile } from 'node:child_process'
import { chown } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Options of `spawn` that change the user; empty if the tests are not run by root. */
export type SpawnUser = { readonly uid: number; readonly gid: number } | Record<string, never>

/** Who runs database programs. */
export async function databaseUser(): Promise<SpawnUser> {
  if (process.getuid?.() !== 0) return {}
  const idOf = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout)
  try {
    return { uid: await idOf('-u'), gid: await idOf('-g') }
  } catch {
    await run('useradd', ['--system', '--user-group', 'postgres'])
    return { uid: await idOf('-u'), gid: await idOf('-g') }
  }
}

/** Gives a file or folder to that user. */
export async function giveTo(user: SpawnUser, path: string): Promise<void> {
  if (user.uid !== undefined) await chown(path, user.uid, user.gid)
}

/** Runs a program as a user, in the root folder, and returns what it prints. */
export async function runAs(
  { uid, gid }: { readonly uid: number; readonly gid: number },
  program: string,
  args: string[],
): Promise<string> {
  return (await run(program, args, { uid, gid, cwd: '/', env: {} })).stdout
}
