/**
 * Which errors mean that the database is unavailable, or refuses because it was changed outside of Keyturn, and what
 * callers see of them. All other errors are mistakes in a program or in the data and pass through unchanged.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { NoResultError } from 'kysely'
import pg from 'pg'
import { DomainError, isOutage, messageOf, StorageRefusal } from '../../domain/errors.ts'
import { backoffMillis } from '../../domain/time.ts'
import { NewerSchema } from '../schema/schema-major.ts'

const MAX_ATTEMPTS = 5
const ROLLBACK_RETRY = { first: 20, longest: 320 }
const LOCK_RETRY_DELAY_MILLIS = 100

/** SQLSTATEs, or the classes that they begin with. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNAVAILABLE_STATES = [
  '08', // connection exception
  '25006', // read-only transaction: the server has become a standby
  '25P04', // transaction took too long
  '53', // insufficient resources, too many connections
  '55P03', // lock not available
  '57014', // statement timeout
  '57P', // shut down, crashed, starting up, terminated by an administrator
  '58', // I/O error of the server
]

export const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * SQLSTATEs, or their classes, of a reachable database that refuses, and their meaning. The statements of the stores are right for
 * the schema that `migrate` has made, so an operator or a restore has changed the database. A statement that is wrong in
 * itself, such as 42601, is not among them.
 */
const REFUSALS: Readonly<Record<string, string>> = {
  // More likely a wrong name than a database that is about to be created.
  '3D000': 'the database does not exist',
  '28': 'the server does not let this role in',
  '3F000': 'a schema is missing',
  [INSUFFICIENT_PRIVILEGE]: 'this role lacks a right',
  '42P01': 'a table is missing',
  '42703': 'a column is missing',
  '42704': 'an object is missing',
  '42883': 'a function or an operator for the types of the columns is missing',
  '42804': 'a column has another type',
  '42P10': 'a constraint is missing',
  '42809': 'an object is of another kind',
  '55000': 'an object is not in the state for that',
  '55006': 'an object is in use',
  P0: 'a trigger refuses',
  XX: 'an internal error of the server, or damaged data',
}

/** Happens in the middle of a restore. */
const MISSING_ROW = 'a row that every instance has is missing'

/** The transaction conflicted with another one, or its client was silent for too long under load. It was rolled back, and can be run again. */
const ROLLED_BACK_STATES = ['40001', '40P01', '25P03']

/** What pg says of a query that it has not sent, after the server has closed the connection, as it does for silence. */
const NOT_SENT = 'Client has encountered a connection error and is not queryable'

/** The wait for a lock timed out, and the transaction was rolled back. */
const LOCK_TIMEOUT_STATE = '55P03'

/** The outcome of the commit is unknown: to a distributed database, or to a pooler that lost its server. */
const UNKNOWN_OUTCOME_STATES = ['40003', '08']

const OUTCOME_UNKNOWN =
  'the database did not confirm the change: it may be stored or not, so look whether it was made before you repeat it'

/** Codes of the system: of the socket, or of looking the host up. Others are of Node.js or OpenSSL. */
const SYSTEM_CODE = /^E(AI_)?[A-Z]+$/

/** What pg says without a code about a connection that ended, or a server that did not answer in time. */
const MAY_PASS = /^(Connection terminated|timeout e(xpired|xceeded)|Query read timeout|Client (has|was) )/

/** What Kysely says after the end of its pool. */
const DESTROYED = 'driver has already been destroyed'

/** The connection could not be made, or was lost. If all addresses of a host fail, the error has only a code. */
class ConnectionFailure extends Error {
  /** Of the system, of Node.js or of OpenSSL; empty if there is none. */
  readonly code: string

  constructor(cause: unknown) {
    const { code = '' } = cause as NodeJS.ErrnoException
    super(messageOf(cause) || code, { cause })
    this.code = code
  }
}

/** What was thrown by pg: an error of the server as it is, and everything else as a failure of the connection. */
export function fromDriver(error: unknown): unknown {
  return error instanceof pg.DatabaseError ? error : new ConnectionFailure(error)
}

/**
 * Runs an operation whose only effects are in the database.
 * @throws {DomainError} `storage_unavailable` instead of the errors that mean so. The original error is its `cause`, for
 * logs: the message has no data of the database.
 */
export async function usingStorage<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw isUnavailable(error) ? storageUnavailable(error) : error
  }
}

/**
 * Like `usingStorage`, for a transaction that is retried, with backoff and jitter, when it was rolled back or its wait for a lock timed out.
 * @param lockWaitMillis How long it is retried after lock timeouts, from its beginning. Default 0.
 * @throws {DomainError} `storage_unavailable` also after too many attempts, or too long a wait for the lock.
 */
export async function usingStorageWithRetries<T>(
  run: () => Promise<T>,
  { lockWaitMillis = 0 }: { readonly lockWaitMillis?: number } = {},
): Promise<T> {
  const deadline = performance.now() + lockWaitMillis
  return await usingStorage(async () => {
    for (let rollbacks = 0; ; ) {
      try {
        return await run()
      } catch (error) {
        if (isRolledBack(error)) rollbacks += 1
        else if (!isLockTimeout(error) || performance.now() >= deadline) throw error
        if (rollbacks === MAX_ATTEMPTS) throw error
        // Full jitter, so that transactions which collided once do not collide again.
        const longest = isRolledBack(error) ? backoffMillis(rollbacks, ROLLBACK_RETRY) : LOCK_RETRY_DELAY_MILLIS
        await delay(Math.random() * longest)
      }
    }
  })
}

/**
 * What a failed commit means to the caller of the change: `change_outcome_unknown`, or the error itself if the transaction was
 * rolled back. Only an error response to COMMIT proves that; an error that ends the session does not.
 */
export function toCommitError(error: unknown): unknown {
  const code = errorCodeOf(error)
  const isError = error instanceof pg.DatabaseError && error.severity === 'ERROR'
  const isUndone = isError && !UNKNOWN_OUTCOME_STATES.some((state) => code.startsWith(state))
  return isUndone ? error : new DomainError('change_outcome_unknown', OUTCOME_UNKNOWN, { cause: error })
}

/** Whether an error may pass by itself, without an operator, unlike a certificate that is not trusted. */
export function isTransient(error: unknown): boolean {
  if (!isOutage(error) || error instanceof NewerSchema) return false
  const { cause } = error
  if (!(cause instanceof ConnectionFailure)) return meaningOfRefusal(cause) === undefined
  return cause.code === '' ? MAY_PASS.test(cause.message) : SYSTEM_CODE.test(cause.code)
}

/** The message of the database or the system, for a log. */
export function whyUnavailable(error: Error): string {
  return messageOf(error.cause ?? error)
}

/** The meaning of a refusal of the database, without data, for every caller. Undefined if the error is no refusal. */
export function meaningOfRefusal(error: unknown): string | undefined {
  const code = errorCodeOf(error)
  const state = Object.keys(REFUSALS).find((beginning) => code.startsWith(beginning))
  return state === undefined ? undefined : `${REFUSALS[state]} (SQLSTATE ${code})`
}

function storageUnavailable(cause: unknown): DomainError {
  const meaning = cause instanceof NoResultError ? MISSING_ROW : meaningOfRefusal(cause)
  if (meaning !== undefined) return new StorageRefusal(meaning, cause)
  return new DomainError('storage_unavailable', 'the database is not available', { cause })
}

/** Whether the database is unavailable or refuses, in an error that `usingStorage` has not seen. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof NoResultError || error instanceof ConnectionFailure) return true
  if (isRolledBack(error) || meaningOfRefusal(error) !== undefined) return true
  const code = errorCodeOf(error)
  return UNAVAILABLE_STATES.some((state) => code.startsWith(state)) || messageOf(error) === DESTROYED
}

function isRolledBack(error: unknown): boolean {
  return ROLLED_BACK_STATES.includes(errorCodeOf(error)) || messageOf(error) === NOT_SENT
}

function isLockTimeout(error: unknown): boolean {
  return errorCodeOf(error) === LOCK_TIMEOUT_STATE
}

/** The SQLSTATE of an error of the server; empty for any other error. */
export function errorCodeOf(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : ''
}
