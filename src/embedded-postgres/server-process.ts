/**
 * One PostgreSQL server as a child process, from its start to its end, and what it writes to its standard error, for the log of Keyturn.
 *
 * It is in a session of its own, so that Ctrl-C in a terminal does not reach it before Keyturn has finished what is in
 * flight. A shell beside it reads a pipe that Keyturn holds: when Keyturn is gone, however it ended, the server shuts down.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { LogThrottle } from '../domain/log-throttle.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { type Makers, namingFolder, workingFolder, workingIn } from './database-folder.ts'

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

/** For superusers, and for connections that are on their way out while a worker is replaced. */
const SPARE_CONNECTIONS = 10

/** Given at each start, they go before those in the database folder, so that a new version of Keyturn changes them. */
const SETTINGS: Readonly<Record<string, string>> = {
  // What is committed survives a loss of power, whatever the folder says.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // Reached through a socket in the database folder only, which only its owner can enter.
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  // Keyturn starts it again after a crash. PostgreSQL 18.4 can hang when it does so itself and its recovery fails.
  restart_after_crash: 'off',
  // The instance is small, and its connections are few.
  shared_buffers: '8MB',
  work_mem: '1MB',
  min_wal_size: '5MB',
  max_wal_size: '32MB',
  io_method: 'sync',
  max_worker_processes: '0',
  autovacuum_max_workers: '1',
  autovacuum_worker_slots: '1',
  // There are no replicas.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  // Its log goes into that of Keyturn, without statements and rows. Keyturn takes out the values that messages quote.
  log_line_prefix: '',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
}

/** How long a start may take, recovery after a crash included, in milliseconds. */
const START_TIMEOUT = 120_000

/** How long a shutdown may take: a clean one, and one that leaves recovery to the next start. */
const FAST_TIMEOUT = 10_000
const IMMEDIATE_TIMEOUT = 5_000

/** How long the last lines of a server may take, in milliseconds. */
const LAST_LINES_TIMEOUT = 200

const LONGEST_LINE = 500
const READY = 'database system is ready to accept connections'

/** What an operator should know. The rest tells of the usual life of a server. */
const WORTH_LOGGING = /^(WARNING|ERROR|FATAL|PANIC): |terminated by signal|not properly shut down/

/** Why a server does not start. Later a FATAL is the end of one connection. */
const REASON = /^(FATAL|PANIC): +|^\S*(postgres|sh): /
const REASON_AFTER_START = /^PANIC: +/

export interface ServerOptions extends Makers {
  readonly folder: string
  /** The name by which the processes of this database are known. */
  readonly marker: string
  /** How many Keyturn opens at most. */
  readonly connections: number
  readonly log: Log
  /** Shared by the servers that follow each other. */
  readonly throttle: LogThrottle
}

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

export function startServerProcess(options: ServerOptions): ServerProcess {
  const { folder, user, programs, connections, marker } = options
  const settings = { cluster_name: marker, ...SETTINGS, max_connections: String(connections + SPARE_CONNECTIONS) }
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = [join(programs, 'bin/postgres'), '-D', workingFolder(folder), ...given]
  const child = spawn(SHELL, ['-c', GUARD, SHELL, ...server], {
    ...workingIn(folder, user),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  const [, , , guard] = child.stdio
  guard?.on('error', () => {})
  const said = readLog(child.stderr as Readable, options)
  const ended = new Promise<string>((resolve) => {
    child.once('error', ({ message }) => resolve(message))
    child.once('exit', async (code, signal) => {
      // The reason may still be in the pipe, which an orphan holds open.
      await within(said.ended, LAST_LINES_TIMEOUT)
      resolve(said.reason() || `it ended with ${signal ?? `exit code ${code}`}`)
    })
  })
  // A killed shell leaves the server and the one that waits for the end of the pipe, and frozen ones keep the other pipe open.
  void ended.then(() => {
    guard?.destroy()
    child.stderr?.destroy()
  })

  const kill = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    // All of its session but for the server's own children, which end when the server is gone.
    process.kill(-child.pid, signal)
  }
  const stop = async (): Promise<void> => {
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
      if (await within(Promise.race([said.ready, failed]), START_TIMEOUT, signal)) return
      await stop()
      signal?.throwIfAborted()
      throw new Error(`it did not start within ${START_TIMEOUT / 1000} seconds`)
    },
  }
}

/** Reads what a server says. `ready` and `ended` resolve when it takes connections, and when all is read. */
function readLog(stderr: Readable, { log, throttle, folder }: ServerOptions) {
  const { promise: ready, resolve: start } = Promise.withResolvers<void>()
  let reasons = REASON
  let reason = ''
  const lines = createInterface({ input: stderr })
  lines.on('line', (text) => {
    const line = namingFolder(withoutValues(text.slice(0, LONGEST_LINE)), folder)
    if (line.includes(READY)) {
      reasons = REASON_AFTER_START
      reason = ''
      start()
    }
    if (reasons.test(line)) reason = line.replace(/^(FATAL|PANIC): +/, '')
    // The ids of processes differ each time.
    const isNew = () => throttle.admits(line.replaceAll(/\d+/g, '0'), performance.now())
    if (WORTH_LOGGING.test(line) && isNew()) log.warn({ said: line }, 'the embedded PostgreSQL says something')
  })
  return {
    ready,
    ended: new Promise((resolve) => lines.once('close', resolve)),
    /** The last thing that it said of why it ends; empty if it did not. */
    reason: () => reason,
  }
}

/** The message of an error may quote a value of a statement. */
function withoutValues(line: string): string {
  return line.startsWith('ERROR: ') ? line.replaceAll(/"[^"]*"?/g, '"…"') : line
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
