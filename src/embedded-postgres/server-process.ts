/**
 * One PostgreSQL server as a child process, from its start to its end.
 *
 * It is in a session of its own, so that Ctrl-C in a terminal does not reach it before Keyturn has finished what is in
 * flight. A shell beside it reads a pipe that Keyturn holds: when Keyturn is gone, however it ended, the server shuts down.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { LogThrottle } from '../domain/log-throttle.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { type Makers, workingFolder, workingIn } from './database-folder.ts'
import { ServerLog } from './server-log.ts'
import { settingsAsArguments } from './server-settings.ts'

/** What runs beside the server. */
export const SHELL = '/bin/sh'

/**
 * Starts the program that its arguments name, and tells it to shut down (SIGINT: at once for clients, but cleanly) at the end
 * of the pipe 3. The signals that it ignores itself are for the server.
 */
const GUARD = `
trap '' HUP INT QUIT TERM
"$@" 3<&- &
server=$!
(read -r line <&3; kill -INT $server) >/dev/null 2>&1 &
guard=$!
wait $server
code=$?
kill -KILL $guard 2>/dev/null
wait $guard 2>/dev/null
exit $code
`

/** How long a start may take, recovery after a crash included, in milliseconds. */
const START_TIMEOUT = 120_000

/** How long a shutdown may take: a clean one, and one that leaves recovery to the next start. */
const FAST_TIMEOUT = 10_000
const IMMEDIATE_TIMEOUT = 5_000

/** How long the last lines of a server may take, in milliseconds. */
const LAST_LINES_TIMEOUT = 200

/** What a server is started with. */
export interface ServerOptions extends Makers {
  readonly folder: string
  readonly marker: string
  /** How many Keyturn opens at most. */
  readonly connections: number
  readonly log: Log
  /** Shared by the servers that follow each other. */
  readonly throttle: LogThrottle
}

/** A server that was started. */
export interface ServerProcess {
  /**
   * Resolves when it takes connections.
   *
   * @throws {Error} if it ends before that, takes too long or is aborted. It has ended then.
   */
  ready(signal?: AbortSignal): Promise<void>
  /** Resolves with what it said when it has ended. */
  readonly ended: Promise<string>
  /** Shuts it down. Resolves when it is gone. */
  stop(): Promise<void>
}

/** Starts a server. */
export function startServerProcess(options: ServerOptions): ServerProcess {
  const { folder, user, programs, connections, marker, log, throttle } = options
  const server = [join(programs, 'bin/postgres'), '-D', workingFolder(folder)]
  const child = spawn(SHELL, ['-c', GUARD, SHELL, ...server, ...settingsAsArguments(connections, marker)], {
    ...workingIn(folder, user),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  const [, , , guard] = child.stdio
  guard?.on('error', () => {})
  const serverLog = new ServerLog(child.stderr as NonNullable<typeof child.stderr>, { log, throttle, folder })
  const ended = new Promise<string>((resolve) => {
    child.once('error', ({ message }) => resolve(message))
    child.once('exit', async (code, signal) => {
      // The reason may still be in the pipe, which an orphan holds open.
      await within(serverLog.ended, LAST_LINES_TIMEOUT)
      resolve(serverLog.reason || `it ended with ${signal ?? `exit code ${code}`}`)
    })
  })
  // A killed shell leaves the server and the one that waits for the end of the pipe.
  void ended.then(() => guard?.destroy())

  const kill = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    // All of its session but for the server's own children, which end when the server is gone.
    process.kill(-child.pid, signal)
  }
  const stop = async (): Promise<void> => {
    serverLog.mute()
    guard?.destroy()
    if (await within(ended, FAST_TIMEOUT)) return
    kill('SIGQUIT')
    if (!(await within(ended, IMMEDIATE_TIMEOUT))) kill('SIGKILL')
    await ended
  }
  return {
    ended,
    stop,
    ready: async (signal) => {
      const failed = ended.then((reason) => {
        throw new Error(reason)
      })
      failed.catch(() => {})
      if (await within(Promise.race([serverLog.ready, failed]), START_TIMEOUT, signal)) return
      await stop()
      signal?.throwIfAborted()
      throw new Error(`it did not start within ${START_TIMEOUT / 1000} seconds`)
    },
  }
}

/** Whether a promise resolves in time, and before the signal aborts. */
async function within(promise: Promise<unknown>, milliseconds: number, signal?: AbortSignal): Promise<boolean> {
  const ending = new AbortController()
  const either = AbortSignal.any([ending.signal, ...(signal === undefined ? [] : [signal])])
  const timer = delay(milliseconds, false, { signal: either }).catch(() => false)
  try {
    return await Promise.race([promise.then(() => true), timer])
  } finally {
    ending.abort()
  }
}
