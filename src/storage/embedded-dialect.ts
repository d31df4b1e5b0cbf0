/**
 * Kysely's PGlite dialect with the database in a thread, which is opened again after it has broken down.
 *
 * Opening again is what a restart of the process would do, and PostgreSQL recovers from its log what was committed. In
 * the meantime every use fails at once, so that the rest of the server goes on from memory.
 */
import { types } from 'node:util'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PGliteAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import { backoffMillis } from '../domain/backoff.ts'
import type { Log } from '../domain/ports.ts'
import { reopenFolder } from './embedded-folder.ts'
import type { EmbeddedSession } from './embedded-session.ts'

/** The backoff before the database is opened again. */
const RETRY = { first: 1_000, longest: 30_000 }

/**
 * How many transactions there are from one checkpoint to the next. PGlite makes none while it is open, and without one
 * PostgreSQL keeps its log for ever.
 */
const TRANSACTIONS_PER_CHECKPOINT = 100

/** Makes the dialect for a session that is open. @param folder Null: it is in memory and is gone when it breaks down. */
export function embeddedDialect(session: EmbeddedSession, folder: string | null, log: Log): Dialect {
  return {
    createAdapter: () => new PGliteAdapter(),
    createDriver: () => new EmbeddedDriver(session, folder, log),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

/** Kysely hands out one connection at a time, because the adapter says that there is only one. */
class EmbeddedDriver implements Driver {
  readonly #folder: string | null
  readonly #log: Log
  #session: EmbeddedSession
  #opening: Promise<void> | undefined
  #failures = 0
  #retryAt = 0
  #transactions = 0
  #closed = false

  constructor(session: EmbeddedSession, folder: string | null, log: Log) {
    this.#session = session
    this.#folder = folder
    this.#log = log
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    // What is over refuses every statement. Kysely would not get over a refusal here.
    if (this.#session.isOver) this.#openAgain()
    return new EmbeddedConnection(this.#session)
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    // Of the isolation levels none matters where there is one connection.
    await connection.executeQuery(CompiledQuery.raw('begin'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
    this.#transactions += 1
    if (this.#transactions % TRANSACTIONS_PER_CHECKPOINT !== 0) return
    // The transaction is done, whatever comes of this: a database that breaks down says so to the next one.
    await connection.executeQuery(CompiledQuery.raw('checkpoint')).catch(() => {})
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#closed = true
    await this.#opening
    await this.#session.close()
  }

  #openAgain(): void {
    if (this.#folder === null || this.#opening !== undefined || this.#closed || Date.now() < this.#retryAt) return
    if (this.#failures === 0) this.#log.error({}, 'the embedded database has stopped: it will be opened again')
    this.#opening = this.#open(this.#folder).finally(() => {
      this.#opening = undefined
    })
  }

  async #open(folder: string): Promise<void> {
    try {
      await this.#session.close()
      this.#session = await reopenFolder(folder)
      this.#failures = 0
      this.#log.info({}, 'the embedded database is open again')
    } catch (error) {
      this.#failures += 1
      this.#retryAt = Date.now() + backoffMillis(this.#failures, RETRY)
      this.#log.warn(
        { reason: error instanceof Error ? error.message : String(error) },
        'the embedded database is not open yet',
      )
    }
  }
}

/** One use of a session: it never goes over to the next one, in which its transaction would not exist. */
class EmbeddedConnection implements DatabaseConnection {
  readonly #session: EmbeddedSession

  constructor(session: EmbeddedSession) {
    this.#session = session
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, affectedRows } = await this.#session.query(sql, parameters)
    return {
      rows: rows.map((row) => ownDates(row) as R),
      ...(affectedRows === undefined ? {} : { numAffectedRows: BigInt(affectedRows) }),
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for a generator.
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('the embedded database does not stream')
  }
}

/** What comes from a thread is made by Node itself, whose `Date` is not the one of code that runs in a context of its own. */
function ownDates(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return row
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, types.isDate(value) ? new Date(value.getTime()) : value]),
  )
}
