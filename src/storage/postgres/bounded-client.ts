/**
 * A connection of a pool as Kysely uses it: no statement runs for longer than it may, and a connection that is of no use
 * any more does not go back into the pool.
 *
 * The limits are set at the beginning of each transaction and end with it. As settings of the connection, a pooler that
 * gives each transaction another one (pgbouncer in transaction mode) would refuse them, or pass them on to strangers. A
 * statement outside a transaction therefore gets one of its own.
 */
import type { PostgresPoolClient } from 'kysely'
import type pg from 'pg'

/** How long things may take on the server, in milliseconds. */
export interface TransactionLimits {
  /** One statement, waiting for locks included. */
  readonly statementTimeout: number
  /** The time between two statements. */
  readonly idleTimeout: number
  /** For transactions that hold the lock of the instance. */
  readonly locking?: LockingLimits
}

/** What keeps a client that falls silent, wherever that is, from holding a lock for long. In milliseconds. */
export interface LockingLimits {
  /** One wait for a lock. A client that is gone leaves the queue then. */
  readonly lockTimeout: number
  /** How long the client may take nothing of an answer. For this time the idle timeout has not begun. */
  readonly answerTimeout: number
  /**
   * The whole transaction. It ends what the idle timeout does not see: a message that is never completed. PostgreSQL has
   * this limit from version 17 on.
   */
  readonly transactionTimeout: number
}

/** What a client tells its pool. */
export interface ClientEvents {
  /** The server does not take writes: it has become a standby, and so have those behind the other connections. */
  readonly onReadOnly: () => void
}

const BEGINS = /^(begin|start transaction)\b/
const ENDS = /^(commit|rollback)$/

/** The first version of PostgreSQL with `transaction_timeout`. */
const TRANSACTION_TIMEOUT_SINCE = 170_000

const QUERY_TIMEOUT_MESSAGE = 'Query read timeout'
const READ_ONLY_STATE = '25006'

/** Makes a client of one that the pool has handed out. */
export function boundClient(
  client: pg.PoolClient,
  limits: TransactionLimits,
  events: ClientEvents,
): PostgresPoolClient {
  const settings = settingsOf(limits)
  let silence: unknown
  let useless = false

  const run = async (text: string, parameters: readonly unknown[] = []): Promise<unknown> => {
    // A query that timed out is in flight for as long as TCP believes in the connection, a quarter of an hour after a
    // cut. Everyone who got this connection would wait behind it.
    if (silence !== undefined) throw silence
    try {
      return await client.query(text, [...parameters])
    } catch (error) {
      if (error instanceof Error && error.message === QUERY_TIMEOUT_MESSAGE) silence = error
      if (error instanceof Error && 'code' in error && error.code === READ_ONLY_STATE) {
        useless = true
        events.onReadOnly()
      }
      throw error
    }
  }

  // Several statements in one message cost one round trip, like one.
  const begin = async (text: string): Promise<unknown> => {
    try {
      return await run(`${text}; ${settings}`)
    } catch (error) {
      // It may have begun, and Kysely does not know.
      useless = true
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
      await run('rollback').catch(() => {
        useless = true
      })
      throw error
    }
  }

  const query = (text: string, parameters: readonly unknown[]): Promise<unknown> => {
    if (BEGINS.test(text)) return begin(text)
    if (client.getTransactionStatus() === 'I' && !ENDS.test(text)) return runAlone(text, parameters)
    return run(text, parameters)
  }
  return {
    // Kysely's other form of `query`, with a cursor, is only called by dialects that are given a cursor class.
    query: query as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy === true || useless || silence !== undefined),
  }
}

function settingsOf({ statementTimeout, idleTimeout, locking }: TransactionLimits): string {
  const settings = [
    `set local statement_timeout = ${statementTimeout}`,
    `set local idle_in_transaction_session_timeout = ${idleTimeout}`,
  ]
  if (locking !== undefined) {
    settings.push(
      `set local lock_timeout = ${locking.lockTimeout}`,
      `set local tcp_user_timeout = ${locking.answerTimeout}`,
      `select set_config('transaction_timeout', '${locking.transactionTimeout}', true) ` +
        `where current_setting('server_version_num')::int >= ${TRANSACTION_TIMEOUT_SINCE}`,
    )
  }
  return settings.join('; ')
}
