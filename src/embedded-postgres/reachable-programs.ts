/**
 * Makes the programs of PostgreSQL executable for the user that PostgreSQL runs as. That user cannot enter a package that is
 * installed below the home folder of root, for example, and a package whose install script was not run lacks links. The links are made
 * in the package, where this process may write there. Otherwise there is one copy for each version.
 *
 * PostgreSQL looks for its files beside its program, whose real path it must be able to walk: no trick with the working
 * directory, as for the database folder, helps here.
 */
import { randomUUID } from 'node:crypto'
import { chmod, copyFile, lstat, mkdir, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeLinks, type ProgramLink } from './program-links.ts'
import type { Programs } from './programs.ts'
import type { ServerUser } from './server-user.ts'

/** Where the copies of root are, and below the data directory those of other users. Nobody else can write there. */
const ROOT_CACHE = '/var/cache/keyturn'
const CACHE = 'programs'

const EXECUTE = 0o1
const WRITABLE_BY_OTHERS = 0o022
const EVERYONE = { folder: 0o755, file: 0o644 }

/** Files for the development of programs against PostgreSQL. */
const LEFT_OUT = /\.a$|^pkgconfig$/

/** Where a process that uses the data directory may keep copies of programs. */
export function programCache(dataDir: string): string {
  return process.getuid?.() === 0 ? ROOT_CACHE : join(dataDir, CACHE)
}

/**
 * The folder with `bin`, `lib` and `share` that this user can enter, with all links.
 *
 * @param user Null: the user of this process.
 * @param cache The folder for a copy. It is made when it is needed.
 * @throws {Error} that says what to do, if there can be none.
 */
export async function reachablePrograms(
  { folder, version, missingLinks }: Programs,
  user: ServerUser | null,
  cache: string,
): Promise<string> {
  const complete = await canComplete(folder, missingLinks)
  if (complete && (user === null || (await canEnter(user, folder)))) return folder
  const copy = join(cache, `postgresql-${version}-${process.platform}-${process.arch}`)
  try {
    await assertOwn(dirname(copy))
    if (!(await isOwn(copy))) await makeCopy(folder, copy, complete ? [] : missingLinks)
    if (user === null || (await canEnter(user, copy))) return copy
    throw new Error('that user cannot enter it either')
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const problem =
      user === null || !complete
        ? `the links between the libraries in ${folder} are missing, because npm ran no install script`
        : `PostgreSQL runs as the user ${user.name}, who cannot enter ${folder}`
    const advice =
      user === null || !complete
        ? 'install Keyturn again and let npm run the install scripts of its packages'
        : 'run Keyturn as another user than root, or install it where every user can read it'
    throw new Error(`${problem}, and there can be no copy in ${copy} (${reason}): ${advice}`, { cause })
  }
}

/** Makes the missing links in the package itself. @returns Whether it has all of them then. */
async function canComplete(folder: string, missing: readonly ProgramLink[]): Promise<boolean> {
  return await makeLinks(folder, missing).then(
    () => true,
    () => false,
  )
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

/** Whether the folder is there, belongs to the user of this process, and is writable for that user only. */
async function isOwn(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined)
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & WRITABLE_BY_OTHERS) === 0
}

/** Makes the folder of the copies. @throws {Error} if another user may write there. */
async function assertOwn(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: EVERYONE.folder })
  if (!(await isOwn(folder))) throw new Error(`other users may write in ${folder}`)
  await chmod(folder, EVERYONE.folder)
}

/** Under its name there is a whole copy or none, also when several processes make it at once. */
async function makeCopy(from: string, to: string, links: readonly ProgramLink[]): Promise<void> {
  const draft = `${to}.${randomUUID()}`
  try {
    await copyTree(from, draft)
    await makeLinks(draft, links)
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
