/**
 * Connections to a PostgreSQL server for Kysely: bounded in number and in time, and thrown away when they stop answering.
 *
 * What a failed query means to callers is decided in `storage-errors.ts`.
 */

import { once } from 'node:events'
import { Socket } from 'node:net'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Log } from '../domain/ports.ts'

/** Where the server is and how long it may take. */
export interface PostgresOptions {
  readonly url: string
  readonly log: Log
  /** How long one statement may take, waiting for locks included. Default 10 000. */
  readonly statementTimeoutMillis?: number | undefined
}

/** What the server's administrator sees beside each connection. */
export const APPLICATION_NAME = 'keyturn'

/** How long opening a connection, or waiting for a free one, may take. */
export const CONNECT_TIMEOUT_MILLIS = 5_000

/** How long a connection may be silent before TCP asks whether the other side is still there. */
export const KEEP_ALIVE_DELAY_MILLIS = 10_000

const MAX_CONNECTIONS = 10

/** How long the server has to close its connections when the pool ends. */
const GOODBYE_MILLIS = 1_000
const STATEMENT_TIMEOUT_MILLIS = 10_000
/** The server gives up first and says why; the client does so only when the server does not answer at all. */
const ANSWER_GRACE_MILLIS = 1_000
/** Long enough to write a file inside a transaction; a replica that hangs must not hold the lock for ever. */
const IDLE_IN_TRANSACTION_MILLIS = 20_000

const QUERY_TIMEOUT_MESSAGE = 'Query read timeout'

/**
 * Opens a pool. Nothing is connected yet.
 *
 * @throws {Error} if the URL cannot be read. The message does not repeat it: it may carry a password.
 */
export function createPostgresPool(options: PostgresOptions): PostgresPool {
  assertReadableUrl(options.url)
  const statementTimeout = options.statementTimeoutMillis ?? STATEMENT_TIMEOUT_MILLIS
  const sockets = new Set<Socket>()
  const pool = new pg.Pool({
    stream: () => {
      const socket = new Socket()
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
    connectionString: options.url,
    application_name: APPLICATION_NAME,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MILLIS,
    statement_timeout: statementTimeout,
    query_timeout: statementTimeout + ANSWER_GRACE_MILLIS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MILLIS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MILLIS,
  })
  pool.on('error', (error) => {
    options.log.warn({ reason: error.message }, 'an idle database connection was lost')
  })
  // While a connection is in use the pool does not listen, and an 'error' nobody listens to ends the process. The
  // query that is running, or the next one, fails with the same error, so there is nothing to do here.
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    options: pool.options,
    connect: async () => discardWhenSilent(await pool.connect()),
    end: async () => {
      // Saying goodbye takes a server that answers. One that does not must not keep the process alive.
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, GOODBYE_MILLIS)
      await pool.end()
      await Promise.all([...sockets].map((socket) => once(socket, 'close')))
      clearTimeout(cut)
    },
  }
}

/**
 * Reads a database URL without connecting.
 *
 * @throws {Error} if it cannot be read. The message does not repeat it: it may carry a password.
 */
export function assertReadableUrl(url: string): void {
  if (!isReadable(url)) {
    throw new Error('the database URL cannot be read: expected postgresql://user:password@host:port/database')
  }
}

function isReadable(url: string): boolean {
  // pg takes any text for the name of a database on a host called "base".
  if (!/^postgres(ql)?:\/\//.test(url)) return false
  try {
    new pg.Client({ connectionString: url })
    return true
  } catch {
    // Not passed on as a cause: it holds the whole URL.
    return false
  }
}

/**
 * A client whose query timed out has a query in flight for as long as TCP believes in the connection, a quarter of an
 * hour after a cut. pg would put it back into the pool, where everyone who gets it waits behind that query.
 */
function discardWhenSilent(client: pg.PoolClient): PostgresPoolClient {
  let silence: unknown
  const query = async (text: string, parameters: readonly unknown[]): Promise<unknown> => {
    if (silence !== undefined) throw silence
    try {
      return await client.query(text, [...parameters])
    } catch (error) {
      if (error instanceof Error && error.message === QUERY_TIMEOUT_MESSAGE) silence = error
      throw error
    }
  }
  return {
    // Kysely's other form of `query`, with a cursor, is only called by dialects that are given a cursor class.
    query: query as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy === true || silence !== undefined),
  }
}
