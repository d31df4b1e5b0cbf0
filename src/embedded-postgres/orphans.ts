/**
 * Kills orphaned server processes: those that use the database folder although this process holds the lock of the data
 * directory, because their Keyturn was killed. To PostgreSQL that is a crash, after which the next start recovers. Each has a marker of the folder on its command line.
 *
 * PostgreSQL's own lock, `postmaster.pid`, does not identify them: after a restart of a container its process id may be that of
 * any other process.
 */
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SHELL } from './server-process.ts'

/** When the processes are given up, and how often they are looked up, in milliseconds. */
const GIVE_UP_AFTER = 10_000
const POLL_INTERVAL = 20

/** Files that say which process has the folder and its socket. */
const LOCK_FILES = ['postmaster.pid', '.s.PGSQL.5432', '.s.PGSQL.5432.lock']

interface Command {
  readonly pid: number
  readonly uid: number
  readonly command: string
}

/** The name by which processes on this folder are known: it stays when the folder is renamed or mounted elsewhere. */
export async function markerOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder)
  return `keyturn-${dev.toString(16)}-${ino.toString(16)}`
}

/**
 * Ends what works on the folder, and removes the lock files that processes have left there. On macOS, which has no containers, PostgreSQL's own
 * lock decides.
 *
 * @throws {Error} that names the processes, if they do not end.
 */
export async function stopOrphans(folder: string, marker: string): Promise<void> {
  if (process.platform !== 'linux') return
  for (let waited = 0; ; waited += POLL_INTERVAL) {
    const found = await processesOf(folder, marker)
    if (found.length === 0) break
    if (waited >= GIVE_UP_AFTER) {
      const pids = found.map(({ pid }) => pid).join(' ')
      throw new Error(`processes of an earlier start still work on the folder and do not end: kill ${pids}`)
    }
    for (const { pid } of found) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended, or it is that of another user, which the error above names.
      }
    }
    await delay(POLL_INTERVAL)
  }
  for (const name of LOCK_FILES) await rm(join(folder, name), { force: true })
}

/** Of the owner of the folder, of this user and of root: any other user can put the marker on a command line too. */
async function processesOf(folder: string, marker: string): Promise<Command[]> {
  const owners = [(await stat(folder)).uid, process.getuid?.(), 0]
  return (await allCommands()).filter((found) => {
    const { uid, command } = found
    // The server renames its other processes to "postgres: <marker>: what it does". The shells beside it end with it.
    return owners.includes(uid) && command.includes(marker) && (isServer(found) || command.startsWith('postgres: '))
  })
}

function isServer({ command }: Command): boolean {
  return /\/bin\/postgres[\0 ]/.test(command) && !command.startsWith(SHELL)
}

/** Any process may read these, also where it may not look into the others of another user. */
async function allCommands(): Promise<Command[]> {
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
