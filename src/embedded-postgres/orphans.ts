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
  ['SIGINT', 15_000],
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
    const found = await processesOf(marker)
    for (const { pid, isServer } of found) if (isServer || signal === 'SIGKILL') send(pid, signal)
    if (await haveEnded(marker, found.length === 0 ? 0 : timeout)) {
      for (const name of LOCK_FILES) await rm(join(folder, name), { force: true })
      return
    }
  }
  const pids = (await processesOf(marker)).map(({ pid }) => pid)
  throw new Error(`processes of an earlier start still work on the folder and do not end: kill ${pids.join(' ')}`)
}

async function haveEnded(marker: string, timeout: number): Promise<boolean> {
  const deadline = performance.now() + timeout
  while ((await processesOf(marker)).length > 0) {
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

async function processesOf(marker: string): Promise<FoundProcess[]> {
  const commands = process.platform === 'linux' ? await linuxCommands() : await otherCommands()
  return commands.flatMap(({ pid, command }) => {
    // The server renames its other processes to "postgres: <marker>: what it does". The shells beside it end with it.
    const isServer = /\/bin\/postgres[\0 ]/.test(command) && !command.startsWith(SHELL)
    return command.includes(marker) && (isServer || command.startsWith('postgres: ')) ? [{ pid, isServer }] : []
  })
}

interface Command {
  readonly pid: number
  readonly command: string
}

/** Any process may read these, also where it may not look into the others of another user. */
async function linuxCommands(): Promise<Command[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const commandOf = (pid: string) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return await Promise.all(pids.map(async (pid) => ({ pid: Number(pid), command: await commandOf(pid) })))
}

async function otherCommands(): Promise<Command[]> {
  const { stdout } = await run('/bin/ps', ['-axo', 'pid=,command='], { maxBuffer: 16 * 1024 * 1024 })
  return stdout.split('\n').flatMap((line) => {
    const [, pid, command = ''] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? []
    return pid === undefined ? [] : [{ pid: Number(pid), command }]
  })
}
