/**
 * Connections to a PostgreSQL server for Kysely, bounded in number and in time.
 *
 * There are two pools (bulkheads): administration, which may wait for locks, cannot use up the connections that a replica
 * reads from. What a failed query means to callers is decided in `storage-errors.ts`.
 */
import { Socket } from 'node:net'
import type { PostgresPool } from 'kysely'
import pg from 'pg'
import type { Log } from '../../domain/ports/runtime.ts'
import { boundClient, type LockingLimits } from './bounded-client.ts'
import { fromDriver } from './storage-errors.ts'

export interface PostgresOptions {
  readonly url: string
  readonly log: Log
  /** Connections in all, 4 or more. Default 10. */
  readonly maxConnections?: number | undefined
  /** Whether changes are announced with NOTIFY, and listened for. Default `listen`. */
  readonly changeFeed?: 'listen' | 'poll' | undefined
  /** How long one statement may take, waiting for locks included. Default 10 000, and 3 000 in the pool `serving`. */
  readonly statementTimeoutMillis?: number | undefined
}

/** How many connections a pool has, how many of them are idle, and how many callers wait for one. */
export interface PoolUse {
  readonly total: number
  readonly idle: number
  readonly waiting: number
}

export interface MeasuredPool extends PostgresPool {
  use(): PoolUse
}

export interface PostgresPools {
  /** For the reads of a replica: small, with short timeouts. */
  readonly serving: MeasuredPool
  readonly administration: MeasuredPool
  /** The connections of `administration`, with the limits of transactions that take the lock of the instance. */
  readonly changes: PostgresPool
}

/** Shown in `pg_stat_activity` beside each connection. */
export const APPLICATION_NAME = 'keyturn'

/** How long opening a connection, or waiting for a free one, may take. */
export const CONNECT_TIMEOUT_MILLIS = 5_000

/** How long a connection may be silent before TCP sends a keep-alive probe. */
export const KEEP_ALIVE_DELAY_MILLIS = 10_000

/** Of a process, with the one that listens. */
export const DEFAULT_MAX_CONNECTIONS = 10
const MOST_SERVING_CONNECTIONS = 8

/** Short, because requests wait for these reads, and a replica must notice soon that the database is gone. */
const SERVING_TIMEOUT_MILLIS = 3_000

/** How long the server may take to close its connections when the pool ends. */
const CLOSE_TIMEOUT_MILLIS = 1_000

export const STATEMENT_TIMEOUT_MILLIS = 10_000

const QUERY_TIMEOUT_GRACE_MILLIS = 1_000

/** A replica that hangs in a change blocks the changes of others for at most this time. */
const IDLE_IN_TRANSACTION_MILLIS = 2_000

/**
 * The wait for a lock is short because a replica that hangs may have many transactions in the queue: each would get the lock
 * in turn and keep it for the idle timeout. Changes try again, see `instance-change.ts`.
 */
const LOCKING: LockingLimits = {
  lockTimeout: 500,
  tcpUserTimeout: IDLE_IN_TRANSACTION_MILLIS,
  transactionTimeout: 5_000,
}

/** How the connections of a process are divided between the pools. One more is for LISTEN, unless the change feed is `poll`. */
export function shareOut(
  maxConnections: number = DEFAULT_MAX_CONNECTIONS,
  changeFeed: 'listen' | 'poll' = 'listen',
): { readonly serving: number; readonly administration: number } {
  const serving = Math.min(MOST_SERVING_CONNECTIONS, Math.max(2, Math.floor(maxConnections * 0.4)))
  return { serving, administration: Math.max(1, maxConnections - serving - (changeFeed === 'listen' ? 1 : 0)) }
}

/** Opens the pools. Nothing is connected yet. @throws {Error} if the URL cannot be read. The message does not repeat it: it may carry a password. */
export function createPostgresPools(options: PostgresOptions): PostgresPools {
  assertReadableUrl(options.url)
  const { statementTimeoutMillis, maxConnections, changeFeed } = options
  const share = shareOut(maxConnections, changeFeed)
  const eviction = new SoftEviction()
  const administration = createPool(options, eviction, {
    max: share.administration,
    connectTimeout: CONNECT_TIMEOUT_MILLIS,
    statementTimeout: statementTimeoutMillis ?? STATEMENT_TIMEOUT_MILLIS,
  })
  return {
    serving: createPool(options, eviction, {
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

/**
 * The shortest time between two evictions, in milliseconds. A database that takes no writes for longer refuses those of new
 * connections too, and opening all connections again each time would only add load.
 */
const EVICTION_INTERVAL = 5_000

/**
 * Soft eviction of pooled connections: after a failover the same address leads to another server, but a connection stays with
 * the server that it was opened to, which may go on answering reads as a standby. Evicted connections are closed when a pool
 * would hand them out. The pool's own `maxLifetimeSeconds` would leave reads with the old server for that time.
 */
class SoftEviction {
  #current = new WeakSet<object>()
  #evictedAt = Number.NEGATIVE_INFINITY

  add(client: object): void {
    this.#current.add(client)
  }

  isEvicted(client: object): boolean {
    return !this.#current.has(client)
  }

  /** Evicts all connections that exist, unless the last eviction was a moment ago. */
  evictAll(): void {
    const now = performance.now()
    if (now - this.#evictedAt < EVICTION_INTERVAL) return
    this.#evictedAt = now
    this.#current = new WeakSet()
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

function createPool({ url, log }: PostgresOptions, eviction: SoftEviction, limits: PoolLimits): BoundedPool {
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
    query_timeout: limits.statementTimeout + QUERY_TIMEOUT_GRACE_MILLIS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MILLIS,
  })
  pool.on('error', (error) => {
    log.warn({ reason: error.message }, 'an idle database connection was lost')
  })
  pool.on('connect', (client) => {
    eviction.add(client)
    // While a connection is in use the pool has no listener, and an 'error' without a listener ends the process. The
    // running query, or the next one, fails with the same error, so there is nothing to do here.
    client.on('error', () => {})
  })

  const connect = async (): Promise<pg.PoolClient> => {
    for (;;) {
      const client = await pool.connect().catch((error: unknown) => {
        throw fromDriver(error)
      })
      if (!eviction.isEvicted(client)) return client
      client.release(true)
    }
  }
  const transaction = { statementTimeout: limits.statementTimeout, idleTimeout: IDLE_IN_TRANSACTION_MILLIS }
  return {
    options: pool.options,
    use: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    connect: async (locking) =>
      boundClient(await connect(), locking === undefined ? transaction : { ...transaction, locking }, {
        onReadOnly: () => eviction.evictAll(),
      }),
    end: async () => {
      // A server that does not respond to the close must not keep the process alive.
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, CLOSE_TIMEOUT_MILLIS)
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

/** Reads a database URL without connecting. @throws {Error} if it cannot be read. The message does not repeat it: it may carry a password. */
export function assertReadableUrl(url: string): void {
  const malformed = 'the database URL cannot be read: expected postgresql://user:password@host:port/database'
  // pg takes any text for the name of a database on a host called "base".
  if (!/^postgres(ql)?:\/\//.test(url)) throw new Error(malformed)
  try {
    new pg.Client({ connectionString: url })
  } catch (error) {
    // Certificates and keys are read here. Other errors, which contain the whole URL, are not passed on, not even as a cause.
    const { code, path } = error as NodeJS.ErrnoException
    throw new Error(
      code === undefined || path === undefined
        ? malformed
        : `the database URL names ${path}, which cannot be read (${code})`,
    )
  }
}
