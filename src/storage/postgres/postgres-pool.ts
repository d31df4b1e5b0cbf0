/**
 * Connections to a PostgreSQL server for Kysely: bounded in number and in time, and thrown away when they are of no use.
 *
 * There are two pools, so that administration, which may wait for locks, never keeps a replica from reading what it
 * serves. What a failed query means to callers is decided in `storage-errors.ts`.
 */
import { Socket } from 'node:net'
import type { PostgresPool } from 'kysely'
import pg from 'pg'
import type { Log } from '../../domain/ports.ts'
import { boundClient, type LockingLimits } from './bounded-client.ts'
import { SoftEviction } from './soft-eviction.ts'

/** Where the server is, and how many connections and how much time it may take. */
export interface PostgresOptions {
  readonly url: string
  readonly log: Log
  /** Connections in all, 4 or more. Default 10. */
  readonly maxConnections?: number | undefined
  /** Whether changes are announced with NOTIFY, and listened for. Default `listen`. */
  readonly changeFeed?: 'listen' | 'poll' | undefined
  /** How long one statement may take, waiting for locks included. Default 10 000, and 3 000 for what is served. */
  readonly statementTimeoutMillis?: number | undefined
}

/** How many connections a pool has, how many of them nobody uses, and how many callers wait for one. */
export interface PoolUse {
  readonly total: number
  readonly idle: number
  readonly waiting: number
}

/** A pool for Kysely that tells how it is used. */
export interface MeasuredPool extends PostgresPool {
  use(): PoolUse
}

/** The pools of a process. */
export interface PostgresPools {
  /** For what a replica reads: small, quick to give up. */
  readonly serving: MeasuredPool
  /** For everything else. */
  readonly administration: MeasuredPool
  /** The connections of `administration`, with the limits of transactions that take the lock of the instance. */
  readonly changes: PostgresPool
}

/** What the server's administrator sees beside each connection. */
export const APPLICATION_NAME = 'keyturn'

/** How long opening a connection, or waiting for a free one, may take. */
export const CONNECT_TIMEOUT_MILLIS = 5_000

/** How long a connection may be silent before TCP asks whether the other side is still there. */
export const KEEP_ALIVE_DELAY_MILLIS = 10_000

const DEFAULT_MAX_CONNECTIONS = 10
const MOST_SERVING_CONNECTIONS = 8

/** A request may wait for what is served, and a replica wants to know soon that the database is gone. */
const SERVING_TIMEOUT_MILLIS = 3_000

/** How long the server has to close its connections when the pool ends. */
const GOODBYE_MILLIS = 1_000
export const STATEMENT_TIMEOUT_MILLIS = 10_000
/** The server gives up first and says why; the client does so only when the server does not answer at all. */
const ANSWER_GRACE_MILLIS = 1_000

/** A replica that hangs keeps others from making changes for that long, and no longer. */
const IDLE_IN_TRANSACTION_MILLIS = 2_000

/**
 * The wait for a lock is short because a replica that hangs may have many in the queue: each would get the lock in turn and
 * keep it for the idle timeout. Changes try again, see `instance-change.ts`.
 */
const LOCKING: LockingLimits = {
  lockTimeout: 500,
  answerTimeout: IDLE_IN_TRANSACTION_MILLIS,
  transactionTimeout: 5_000,
}

/** How the connections of a process are shared out. One of the others is for LISTEN, if there is one. */
export function shareOut(
  maxConnections: number = DEFAULT_MAX_CONNECTIONS,
  changeFeed: 'listen' | 'poll' = 'listen',
): { readonly serving: number; readonly administration: number } {
  const serving = Math.min(MOST_SERVING_CONNECTIONS, Math.max(2, Math.floor(maxConnections * 0.4)))
  return { serving, administration: Math.max(1, maxConnections - serving - (changeFeed === 'listen' ? 1 : 0)) }
}

/**
 * Opens the pools. Nothing is connected yet.
 *
 * @throws {Error} if the URL cannot be read. The message does not repeat it: it may carry a password.
 */
export function createPostgresPools(options: PostgresOptions): PostgresPools {
  assertReadableUrl(options.url)
  const { statementTimeoutMillis, maxConnections, changeFeed } = options
  const share = shareOut(maxConnections, changeFeed)
  const servers = new SoftEviction(() => performance.now())
  const administration = createPool(options, servers, {
    max: share.administration,
    connectTimeout: CONNECT_TIMEOUT_MILLIS,
    statementTimeout: statementTimeoutMillis ?? STATEMENT_TIMEOUT_MILLIS,
  })
  return {
    serving: createPool(options, servers, {
      max: share.serving,
      connectTimeout: SERVING_TIMEOUT_MILLIS,
      statementTimeout: statementTimeoutMillis ?? SERVING_TIMEOUT_MILLIS,
    }),
    administration,
    changes: {
      options: administration.options,
      connect: () => administration.connect(LOCKING),
      // The connections are those of the other pool, which closes them.
      end: async () => {},
    },
  }
}

interface BoundedPool extends MeasuredPool {
  connect(locking?: LockingLimits): ReturnType<PostgresPool['connect']>
}

interface PoolLimits {
  readonly max: number
  readonly connectTimeout: number
  readonly statementTimeout: number
}

function createPool({ url, log }: PostgresOptions, servers: SoftEviction, limits: PoolLimits): BoundedPool {
  const sockets = new Set<Socket>()
  const pool = new pg.Pool({
    stream: () => {
      const socket = new Socket()
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
    connectionString: url,
    application_name: APPLICATION_NAME,
    max: limits.max,
    connectionTimeoutMillis: limits.connectTimeout,
    query_timeout: limits.statementTimeout + ANSWER_GRACE_MILLIS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MILLIS,
  })
  pool.on('error', (error) => {
    log.warn({ reason: error.message }, 'an idle database connection was lost')
  })
  pool.on('connect', (client) => {
    servers.add(client)
    // While a connection is in use the pool does not listen, and an 'error' nobody listens to ends the process. The
    // query that is running, or the next one, fails with the same error, so there is nothing to do here.
    client.on('error', () => {})
  })

  const connect = async (): Promise<pg.PoolClient> => {
    for (;;) {
      const client = await pool.connect()
      if (servers.isCurrent(client)) return client
      client.release(true)
    }
  }
  const transaction = { statementTimeout: limits.statementTimeout, idleTimeout: IDLE_IN_TRANSACTION_MILLIS }
  return {
    options: pool.options,
    use: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    connect: async (locking) =>
      boundClient(await connect(), locking === undefined ? transaction : { ...transaction, locking }, {
        onReadOnly: () => servers.leave(),
      }),
    end: async () => {
      // Saying goodbye takes a server that answers. One that does not must not keep the process alive.
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, GOODBYE_MILLIS)
      // One that is reset is closed as well, and there is nothing more to say to its server.
      const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      try {
        await pool.end()
        await Promise.all(closed)
      } finally {
        clearTimeout(cut)
      }
    },
  }
}

/** Host and port of the server, for a log, and nothing else of the URL. */
export function addressOf(url: string): string {
  const { host, port } = new pg.Client({ connectionString: url })
  return `${host}:${port}`
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
