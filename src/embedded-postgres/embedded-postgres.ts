/**
 * The embedded database: a PostgreSQL server as a child process, for as long as this process has the data directory. It is
 * started again when it ends by itself.
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../domain/errors.ts'
import { LogThrottle } from '../domain/log-throttle.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { backoffMillis } from '../domain/time.ts'
import { lockDataDirectory } from './data-directory.ts'
import { DATABASE_FOLDER, prepareDatabaseFolder } from './database-folder.ts'
import { markerOf, stopOrphans } from './orphans.ts'
import { findPrograms, programCache, reachablePrograms } from './programs.ts'
import { type ServerOptions, type ServerProcess, startServerProcess } from './server-process.ts'
import { serverUser } from './server-user.ts'

/** The backoff before a restart, in milliseconds. */
const RESTART = { first: 250, longest: 30_000 }
/** After a run of so many milliseconds the backoff begins again. */
const LONG_RUN = 60_000

export interface EmbeddedPostgresOptions {
  readonly dataDir: string
  /** How many connections all processes of Keyturn together open at most. */
  readonly connections: number
  readonly log: Log
  /** Aborts the start: the call then throws its reason. It has no effect on a started database. */
  readonly signal?: AbortSignal | undefined
}

export interface EmbeddedPostgres {
  /** The database folder, in which the socket is. */
  readonly folder: string
  /** Shuts it down and lets other processes have the data directory. Connections that are open are cut. */
  stop(): Promise<void>
}

/**
 * Takes the data directory, makes a database there unless there is one, and starts it.
 *
 * @throws {Error} that names the folder and says what to do. Nothing runs then, and the data directory is free.
 */
export async function startEmbeddedPostgres({
  dataDir,
  connections,
  log,
  signal,
}: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const lock = await lockDataDirectory(dataDir)
  try {
    const user = await serverUser(join(dataDir, DATABASE_FOLDER))
    const programs = await reachablePrograms(await findPrograms(), user, programCache(dataDir))
    const folder = await prepareDatabaseFolder(dataDir, { programs, user }, signal)
    const server = { folder, programs, user, connections, log, throttle: new LogThrottle() }
    const stopServer = await superviseServer(server, signal)
    return {
      folder,
      stop: async () => {
        await stopServer()
        lock.release()
      },
    }
  } catch (cause) {
    lock.release()
    signal?.throwIfAborted()
    throw new Error(`the embedded database in ${dataDir} cannot be started: ${messageOf(cause)}`, { cause })
  }
}

/** Starts the server, and starts it again when it ends by itself, until the returned function is called. */
async function superviseServer(
  options: Omit<ServerOptions, 'marker'>,
  starting: AbortSignal | undefined,
): Promise<() => Promise<void>> {
  const { folder, log } = options
  const stopping = new AbortController()
  const { signal } = stopping
  let server: ServerProcess | undefined

  const launch = async (launching?: AbortSignal): Promise<ServerProcess> => {
    const marker = await markerOf(folder)
    await stopOrphans(folder, marker)
    signal.throwIfAborted()
    server = startServerProcess({ ...options, marker })
    await server.ready(launching)
    return server
  }
  const replace = async (first: Promise<string>): Promise<void> => {
    let ended = first
    let startedAt = performance.now()
    for (let failures = 1; ; failures += 1) {
      const reason = await ended
      if (signal.aborted) return
      if (performance.now() - startedAt >= LONG_RUN) failures = 1
      log.error({ reason }, 'the embedded PostgreSQL has ended and will be started again')
      await delay(backoffMillis(failures, RESTART), undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      startedAt = performance.now()
      ended = launch().then((next) => {
        log.info({}, 'the embedded PostgreSQL runs again')
        return next.ended
      }, messageOf)
    }
  }
  const { ended } = await launch(starting)
  const replacing = replace(ended)
  return async () => {
    stopping.abort()
    await server?.stop()
    await replacing
  }
}
