/**
 * Ends orphaned server processes: those that use the database folder although this process holds the lock of the data
 * directory, because their Keyturn was killed. Each has a marker of the folder on its command line.
 *
 * PostgreSQL's own lock, `postmaster.pid`, does not identify them: after a restart of a container its process id may be that of
 * any other process.
 */
import { execFile } from 'node:child_process'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { SHELL } from './server-process.ts'

/** The signals in their order, and the timeout of each in milliseconds. */
const ESCALATION = [
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
] as const
/** How often the processes are looked up, in milliseconds. */
const POLL_INTERVAL = 20

/** Files that say which process has the folder and its socket. */
const LOCK_FILES = ['postmaster.pid', '.s.PGSQL.5432', '.s.PGSQL.5432.lock']

const run = promisify(execFile)

/** A process on the database folder. */
interface FoundProcess {
  readonly pid: number
  /** Whether it is the server itself. Its other processes end with it. */
  readonly isServer: boolean
}

/** The name by which processes on this folder are known: it stays when the folder is renamed or mounted elsewhere. */
export async function markerOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder)
  return `keyturn-${dev.toString(16)}-${ino.toString(16)}`
}

/**
 * Ends what works on the folder, and removes the lock files that processes have left there.
 *
 * @throws {Error} that names the processes, if they do not end.
 */
export async function stopOrphans(folder: string, marker: string): Promise<void> {
  for (const [signal, timeout] of ESCALATION) {
    const found = await processesOf(folder, marker)
    for (const { pid, isServer } of found) if (isServer || signal === 'SIGKILL') send(pid, signal)
    if (await haveEnded(() => processesOf(folder, marker), found.length === 0 ? 0 : timeout)) {
      for (const name of LOCK_FILES) await rm(join(folder, name), { force: true })
      return
    }
  }
  const pids = (await processesOf(folder, marker)).map(({ pid }) => pid)
  throw new Error(`processes of an earlier start still work on the folder and do not end: kill ${pids.join(' ')}`)
}

async function haveEnded(find: () => Promise<readonly FoundProcess[]>, timeout: number): Promise<boolean> {
  const deadline = performance.now() + timeout
  while ((await find()).length > 0) {
    if (performance.now() >= deadline) return false
    await delay(POLL_INTERVAL)
  }
  return true
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The last error names a process of another user that does not end.
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/** Of the owner of the folder, of this user and of root: any other user can put the marker on a command line too. */
async function processesOf(folder: string, marker: string): Promise<FoundProcess[]> {
  const owners = [(await stat(folder)).uid, process.getuid?.(), 0]
  const commands = process.platform === 'linux' ? await linuxCommands() : await otherCommands()
  return commands.flatMap(({ pid, uid, command }) => {
    if (!owners.includes(uid)) return []
    // The server renames its other processes to "postgres: <marker>: what it does". The shells beside it end with it.
    const isServer = /\/bin\/postgres[\0 ]/.test(command) && !command.startsWith(SHELL)
    return command.includes(marker) && (isServer || command.startsWith('postgres: ')) ? [{ pid, isServer }] : []
  })
}

interface Command {
  readonly pid: number
  readonly uid: number
  readonly command: string
}

/** Any process may read these, also where it may not look into the others of another user. */
async function linuxCommands(): Promise<Command[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const commands = pids.map(async (pid): Promise<Command[]> => {
    try {
      const [{ uid }, command] = await Promise.all([stat(`/proc/${pid}`), readFile(`/proc/${pid}/cmdline`, 'utf8')])
      return [{ pid: Number(pid), uid, command }]
    } catch {
      // It has ended.
      return []
    }
  })
  return (await Promise.all(commands)).flat()
}

/** Whole: `ps` cuts long commands off otherwise. */
async function otherCommands(): Promise<Command[]> {
  const { stdout } = await run('/bin/ps', ['-axww', '-o', 'pid=,uid=,command='], { maxBuffer: 16 * 1024 * 1024 })
  return stdout.split('\n').flatMap((line) => {
    const [, pid, uid, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
    return pid === undefined ? [] : [{ pid: Number(pid), uid: Number(uid), command }]
  })
}
