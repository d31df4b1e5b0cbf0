/**
 * Makes the programs of PostgreSQL executable for the user that PostgreSQL runs as. That user cannot enter a package that is
 * installed below the home folder of root, for example. Then there is one copy for each version.
 *
 * PostgreSQL looks for its files beside its program, whose real path it must be able to walk: no trick with the working
 * directory, as for the database folder, helps here.
 */
import { randomUUID } from 'node:crypto'
import { chmod, copyFile, lstat, mkdir, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Programs } from './programs.ts'
import type { ServerUser } from './server-user.ts'

/** Where the copies are. Only root, who alone can run programs as another user, can write here. */
const CACHE = '/var/cache/keyturn'

const EXECUTE = 0o1
const WRITABLE_BY_OTHERS = 0o022
const EVERYONE = { folder: 0o755, file: 0o644 }

/** Files for the development of programs against PostgreSQL. */
const LEFT_OUT = /\.a$|^pkgconfig$/

/**
 * The folder with `bin`, `lib` and `share` that this user can enter.
 *
 * @param user Null: the user of this process.
 * @throws {Error} that says what to do, if there can be none.
 */
export async function reachablePrograms(
  { folder, version }: Programs,
  user: ServerUser | null,
  cache: string = CACHE,
): Promise<string> {
  if (user === null || (await canEnter(user, folder))) return folder
  const copy = join(cache, `postgresql-${version}-${process.platform}-${process.arch}`)
  try {
    await assertOwn(dirname(copy))
    if (!(await isOwn(copy))) await makeCopy(folder, copy)
    if (await canEnter(user, copy)) return copy
    throw new Error('that user cannot enter it either')
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(
      `PostgreSQL runs as the user ${user.name}, who cannot enter ${folder}, and there can be no copy in ${copy} (${reason}): ` +
        'run Keyturn as another user than root, or install it where every user can read it',
      { cause },
    )
  }
}

/** Whether a user who is not root can enter a folder, as far as the modes of all folders above it say. */
export async function canEnter({ uid, gid }: ServerUser, folder: string): Promise<boolean> {
  for (let current = folder; ; current = dirname(current)) {
    const { mode, uid: owner, gid: group } = await stat(current)
    const shift = owner === uid ? 6 : group === gid ? 3 : 0
    if (((mode >> shift) & EXECUTE) === 0) return false
    if (current === dirname(current)) return true
  }
}

/** Whether the folder is there, belongs to root, and is writable for root only. */
async function isOwn(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined)
  return found?.isDirectory() === true && found.uid === 0 && (found.mode & WRITABLE_BY_OTHERS) === 0
}

/** Makes the folder of the copies. @throws {Error} if another user may write there. */
async function assertOwn(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  if (!(await isOwn(folder))) throw new Error(`users other than root may write in ${folder}`)
  await chmod(folder, EVERYONE.folder)
}

/** Under its name there is a whole copy or none, also when several processes make it at once. */
async function makeCopy(from: string, to: string): Promise<void> {
  const draft = `${to}.${randomUUID()}`
  try {
    await copyTree(from, draft)
    await rename(draft, to)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (!(await isOwn(to))) throw error
  }
}

/** Modes are set one by one: a umask would close the copy again. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, EVERYONE.folder)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (LEFT_OUT.test(entry.name)) continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyTree(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else await copyProgram(source, target)
  }
}

async function copyProgram(source: string, target: string): Promise<void> {
  await copyFile(source, target)
  const { mode } = await stat(source)
  await chmod(target, (mode & 0o100) === 0 ? EVERYONE.file : EVERYONE.folder)
}
