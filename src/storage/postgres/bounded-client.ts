/**
 * A connection of a pool as Kysely uses it, with timeouts for each transaction. A connection that is no longer usable is
 * closed instead of returned to the pool.
 *
 * The timeouts are set at the beginning of each transaction and end with it. If they were settings of the connection, a
 * pooler in transaction mode (pgbouncer) would refuse them, or apply them to other clients. So a statement outside a
 * transaction gets a transaction of its own.
 */
import type { PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import { errorCodeOf, fromDriver } from './storage-errors.ts'

/** The timeouts of a transaction on the server, in milliseconds. */
export interface TransactionLimits {
  /** One statement, waiting for locks included. */
  readonly statementTimeout: number
  /** The time between two statements. */
  readonly idleTimeout: number
  /** For transactions that hold the lock of the instance. */
  readonly locking?: LockingLimits
}

/** Bounds how long a client that hangs can hold a lock, in milliseconds. */
export interface LockingLimits {
  /** One wait for a lock. It also removes a client that is gone from the queue. */
  readonly lockTimeout: number
  /**
   * How long the machine of the client may acknowledge nothing: of a response, during which the idle timeout does not run, and of
   * keepalive probes, in the middle of a message, during which no timeout runs before PostgreSQL 17.
   */
  readonly tcpUserTimeout: number
  /** The whole transaction, also while its message is incomplete. PostgreSQL has this setting from version 17 on. */
  readonly transactionTimeout: number
}

export interface ClientEvents {
  /** The server refuses writes: it has become a standby. The other connections lead to the same server. */
  readonly onReadOnly: () => void
}

const BEGINS = /^(begin|start transaction)\b/

/** The first version of PostgreSQL with `transaction_timeout`. */
const TRANSACTION_TIMEOUT_SINCE = 170_000

const QUERY_TIMEOUT_MESSAGE = 'Query read timeout'
/** The server is a standby, or was told to refuse writes. */
export const READ_ONLY_STATE = '25006'

export function boundClient(
  client: pg.PoolClient,
  limits: TransactionLimits,
  events: ClientEvents,
): PostgresPoolClient {
  const settings = settingsOf(limits)
  let timeoutError: unknown
  let broken = false

  const run = async (text: string, parameters: readonly unknown[] = []): Promise<unknown> => {
    // A query that timed out stays in flight until TCP gives up, a quarter of an hour after the network was cut. Each later
    // query on this connection would wait behind it.
    if (timeoutError !== undefined) throw timeoutError
    try {
      return await client.query(text, [...parameters])
    } catch (thrown) {
      const error = fromDriver(thrown)
      if (isResponseTimeout(error)) timeoutError = error
      if (errorCodeOf(error) === READ_ONLY_STATE) {
        broken = true
        events.onReadOnly()
      }
      throw error
    }
  }

  /** Does not fail, so that what it is rolled back for is what the caller gets. */
  const rollBack = async (): Promise<unknown> => {
    await run('rollback').catch(() => {
      broken = true
    })
    return { command: 'ROLLBACK' }
  }

  // Several statements in one message cost one round trip, like one.
  const begin = async (text: string): Promise<unknown> => {
    try {
      return await run(`${text}; ${settings}`)
    } catch (error) {
      // The transaction may have begun, and Kysely does not know that.
      broken = true
      throw error
    }
  }

  const runAlone = async (text: string, parameters: readonly unknown[]): Promise<unknown> => {
    await begin('begin')
    try {
      const result = await run(text, parameters)
      await run('commit')
      return result
    } catch (error) {
      await rollBack()
      throw error
    }
  }

  const query = (text: string, parameters: readonly unknown[]): Promise<unknown> => {
    if (text === 'rollback') return rollBack()
    if (BEGINS.test(text)) return begin(text)
    if (client.getTransactionStatus() === 'I' && text !== 'commit') return runAlone(text, parameters)
    return run(text, parameters)
  }
  return {
    // Kysely's other form of `query`, with a cursor, is only called by dialects that are given a cursor class.
    query: query as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy === true || broken || timeoutError !== undefined),
  }
}

/** Whether the server did not respond in time, so that it is not known what became of the statement. */
export function isResponseTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === QUERY_TIMEOUT_MESSAGE
}

function settingsOf({ statementTimeout, idleTimeout, locking }: TransactionLimits): string {
  const settings = [
    `set local statement_timeout = ${statementTimeout}`,
    `set local idle_in_transaction_session_timeout = ${idleTimeout}`,
  ]
  if (locking !== undefined) {
    settings.push(
      `set local lock_timeout = ${locking.lockTimeout}`,
      `set local tcp_user_timeout = ${locking.tcpUserTimeout}`,
      'set local tcp_keepalives_idle = 2',
      'set local tcp_keepalives_interval = 1',
      'set local tcp_keepalives_count = 2',
      `select set_config('transaction_timeout', '${locking.transactionTimeout}', true) ` +
        `where current_setting('server_version_num')::int >= ${TRANSACTION_TIMEOUT_SINCE}`,
    )
  }
  return settings.join('; ')
}
