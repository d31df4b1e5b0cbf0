/**
 * The folder of the embedded database: made whole or not at all, and looked at before PostgreSQL gets it.
 *
 * Callers hold the lock of the data directory.
 */
import { execFile } from 'node:child_process'
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { chmod, chown, lstat, mkdir, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { POSTGRES_MAJOR } from './programs.ts'
import { giveTo, type ServerUser } from './server-user.ts'
import { DATABASE, ROLE } from './socket.ts'

/** Names in the data directory: of the database, and of one that is being made. */
export const DATABASE_FOLDER = 'postgres'
const DRAFT_FOLDER = 'postgres.new'

const VERSION_FILE = 'PG_VERSION'

const WORKING_FOLDER = '/proc/self/cwd'

const OWNER_ONLY = 0o700
const ALL_MODES = 0o777

const MEBIBYTE = 1024 * 1024

/** Free bytes without which nothing is tried: a new database takes 31 MiB, and its log grows by up to 32 MiB. */
const NEEDED_FOR_NEW = 64 * MEBIBYTE
const NEEDED_TO_START = 8 * MEBIBYTE

/** How long a program that makes a database may take, in milliseconds. */
const TIMEOUT = 120_000

const INITDB = ['--username=postgres', '--auth=trust', '--no-locale', '--encoding=UTF8', '--wal-segsize=1', '--no-sync']
/** The server would write the rest of its settings into the folder: it has them from Keyturn at each start. */
const SINGLE = ['-c', 'fsync=off', '-c', 'shared_buffers=8MB', '-c', 'wal_level=minimal', '-c', 'max_wal_senders=0']
const FIRST_STATEMENTS = [
  `create role ${ROLE} login`,
  `alter database postgres owner to ${ROLE}`,
  `alter database postgres rename to ${DATABASE}`,
]

const run = promisify(execFile)

export interface Makers {
  readonly programs: string
  /** Null: the user of this process. */
  readonly user: ServerUser | null
}

/**
 * Sees to it that there is a database of this PostgreSQL in the data directory, and makes one if there is none.
 *
 * @param signal Aborts it.
 * @returns Its folder.
 * @throws {Error} that says what to do. What is there stays as it is then.
 */
export async function prepareDatabaseFolder(
  dataDir: string,
  makers: Makers,
  signal: AbortSignal = new AbortController().signal,
): Promise<string> {
  const folder = join(dataDir, DATABASE_FOLDER)
  // Of a start that was cut off.
  await removeDraft(join(dataDir, DRAFT_FOLDER))
  if (!(await hasDatabaseFolder(dataDir))) await makeDatabase(dataDir, makers, signal)
  else {
    await assertOwnMajor(folder)
    await assertSpace(folder, NEEDED_TO_START)
    await claim(folder, makers.user)
  }
  return folder
}

/** Whether there is a database in the data directory, or something in its place. */
export async function hasDatabaseFolder(dataDir: string): Promise<boolean> {
  const content = await readdir(join(dataDir, DATABASE_FOLDER)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return content.length > 0
}

/** Options of a child process that works on a folder as the user may, also where that user cannot enter the folders above it. */
export function workingIn(folder: string, user: ServerUser | null) {
  return {
    // The system goes there before it changes the user.
    cwd: folder,
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    // None of Keyturn's variables: they may be secret, and another user can read those of its own processes.
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  }
}

/** The argument that names the folder in which a program was started. */
export function workingFolder(folder: string): string {
  return process.platform === 'linux' ? WORKING_FOLDER : folder
}

/** What a program said, with the name of the folder that it knows as its working directory. */
export function namingFolder(text: string, folder: string): string {
  return text.replaceAll(WORKING_FOLDER, folder)
}

/** What was restored from a backup may belong to root, and what was mounted may be open to others: PostgreSQL refuses both. */
async function claim(folder: string, user: ServerUser | null): Promise<void> {
  const { uid, mode } = await stat(folder)
  // Before its files are given away, so that no other user puts links there meanwhile.
  if ((mode & ALL_MODES) !== OWNER_ONLY) await chmod(folder, OWNER_ONLY)
  const { uid: owner } = await lstat(join(folder, VERSION_FILE))
  if (uid === 0 || owner === 0) await giveTo(user, folder)
}

async function makeDatabase(dataDir: string, { programs, user }: Makers, signal: AbortSignal): Promise<void> {
  await assertSpace(dataDir, NEEDED_FOR_NEW)
  const draft = join(dataDir, DRAFT_FOLDER)
  try {
    await mkdir(draft, OWNER_ONLY)
    if (user !== null) await chown(draft, user.uid, user.gid)
    const data = ['-D', workingFolder(draft)]
    const options = { ...workingIn(draft, user), timeout: TIMEOUT, signal }
    await runProgram(join(programs, 'bin/initdb'), [...INITDB, ...data], options)
    await runProgram(join(programs, 'bin/postgres'), ['--single', ...data, ...SINGLE, 'template1'], options)
    await runProgram(join(programs, 'bin/initdb'), ['--sync-only', ...data], options)
    await rename(draft, join(dataDir, DATABASE_FOLDER))
    const parent = openSync(dataDir, 'r')
    fsyncSync(parent)
    closeSync(parent)
  } catch (error) {
    // What remains goes at the next start: the reason of the failure is more important.
    await removeDraft(draft).catch(() => {})
    throw error
  }
}

/** A program that was ended may write there for a moment. */
async function removeDraft(draft: string): Promise<void> {
  await rm(draft, { recursive: true, force: true, maxRetries: 10 })
}

/** The statements are for the server in its single-user mode: the other programs read none. */
async function runProgram(
  program: string,
  args: readonly string[],
  options: ReturnType<typeof workingIn> & { readonly timeout: number; readonly signal: AbortSignal },
): Promise<void> {
  const running = run(program, args, options)
  running.child.stdin?.on('error', () => {})
  running.child.stdin?.end(FIRST_STATEMENTS.map((statement) => `${statement}\n`).join(''))
  // The server ends well also after a statement that failed.
  const { stderr = '', message = '' } = await running.then(
    (said): Partial<Error> & { readonly stderr?: string } => said,
    (error: Error & { readonly stderr?: string }) => error,
  )
  const lines = [...stderr.split('\n').filter(Boolean), ...message.split('\n')]
  // Not all that initdb complains about has such a word.
  const problem = lines.find((line) => /\b(error|ERROR|FATAL|PANIC): /.test(line)) ?? (message && lines[0])
  if (problem) throw new Error(namingFolder(problem, options.cwd))
}

async function assertOwnMajor(folder: string): Promise<void> {
  const version = await readFile(join(folder, VERSION_FILE), 'latin1').catch(() => '')
  if (version.trim() === POSTGRES_MAJOR) return
  throw new Error(
    /^\d+\n$/.test(version)
      ? `it was made by PostgreSQL ${version.trim()}, and this version of Keyturn has PostgreSQL ${POSTGRES_MAJOR}: ` +
          'move the data directory aside or run the version of Keyturn that made it'
      : 'it is not a database: move it aside or choose another data directory',
  )
}

async function assertSpace(folder: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize >= needed) return
  const [free, wanted] = [bavail * bsize, needed].map((bytes) => Math.floor(bytes / MEBIBYTE))
  throw new Error(`the disk is full: ${free} MiB are free, and ${wanted} MiB are needed`)
}
