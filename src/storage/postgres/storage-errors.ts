/**
 * Which errors mean that the database is unavailable, or refuses because it was changed under the servers, and what
 * callers see of them.
 *
 * Everything else is a mistake in a program or in the data and passes through as it is.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { NoResultError } from 'kysely'
import { backoffMillis } from '../../domain/backoff.ts'
import { DomainError, isOutage, StorageRefusal } from '../../domain/errors.ts'
import { NewerSchema } from '../schema/schema-major.ts'

const MAX_ATTEMPTS = 5
const CONFLICT_RETRY = { first: 20, longest: 320 }
const LOCK_RETRY_DELAY_MILLIS = 100

/** SQLSTATEs, or the classes that they begin with. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNAVAILABLE_STATES = [
  '08', // connection exception
  '25006', // read-only transaction: the server has become a standby
  '25P03', // idle in transaction for too long
  '25P04', // transaction took too long
  '53', // insufficient resources, too many connections
  '55P03', // lock not available
  '57014', // statement timeout
  '57P', // shut down, crashed, starting up, terminated by an administrator
  '58', // I/O error of the server
]

/** The role may not do that. */
export const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * SQLSTATEs, or their classes, of a database that is there and refuses, and what they mean. Every statement of this folder is
 * right for the schema that `migrate` has made, so that it is an operator or a restore that has changed the database, and one
 * of them has to do something about it. A statement that is wrong in itself, such as 42601, is not among them.
 */
const REFUSALS: Readonly<Record<string, string>> = {
  // Its name is more likely wrong than about to come, and a program that ends is started again.
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

/** A row that every instance has is not there, as in the middle of a restore. */
const MISSING_ROW = 'a row that every instance has is missing'

/** The transaction lost against another one and was undone: it can simply be run again. */
const CONFLICT_STATES = ['40001', '40P01']

/** The wait for a lock took longer than one may, and the transaction was undone. */
const LOCK_TIMEOUT_STATE = '55P03'

/** The database does not know itself whether a transaction was committed: a distributed one, or a pooler that lost its server. */
const UNKNOWN_OUTCOME_STATES = ['40003', '08']

const OUTCOME_UNKNOWN =
  'the database did not confirm the change: it may be stored or not, so look whether it was made before you repeat it'

const SYSTEM_CODES = new Set([
  'EACCES',
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

/** Errors that pg, its pool and Kysely throw without a code. */
const MESSAGES = [
  /^Connection terminated/,
  /^timeout e(xpired|xceeded when trying to connect)$/,
  /^Query read timeout$/,
  /^Client (was closed|has encountered a connection error) and is not queryable$/,
  /^Postgres connection has been discarded$/,
  /^Cannot use a pool after calling end on the pool$/,
  /^driver has already been destroyed$/,
]

/**
 * Runs something that only uses the database.
 *
 * @throws {DomainError} `storage_unavailable` instead of the errors that mean so. What happened is its `cause`, for
 * logs: the message says nothing that is in the database.
 */
export async function usingStorage<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw isUnavailable(error) ? storageUnavailable(error) : error
  }
}

/**
 * Like `usingStorage`, for a transaction that may be run again: when it loses against another one, or has waited for a lock
 * for as long as one wait may take, it is.
 *
 * @param lockWaitMillis From its beginning, how long it is run again for the sake of a lock. Default 0.
 * @throws {DomainError} `storage_unavailable` also when it has lost too often, or waited for too long.
 */
export async function usingStorageRepeatedly<T>(
  run: () => Promise<T>,
  { lockWaitMillis = 0 }: { readonly lockWaitMillis?: number } = {},
): Promise<T> {
  const deadline = performance.now() + lockWaitMillis
  return await usingStorage(async () => {
    for (let conflicts = 0; ; ) {
      try {
        return await run()
      } catch (error) {
        if (isConflict(error)) conflicts += 1
        else if (!isLockTimeout(error) || performance.now() >= deadline) throw error
        if (conflicts === MAX_ATTEMPTS) throw error
        // Full jitter, so that transactions which collided once do not collide again.
        const longest = isConflict(error) ? backoffMillis(conflicts, CONFLICT_RETRY) : LOCK_RETRY_DELAY_MILLIS
        await delay(Math.random() * longest)
      }
    }
  })
}

/**
 * What a commit that failed means to who asked for the change: `change_outcome_unknown`, or the error itself if the
 * transaction was undone. It was if PostgreSQL answers COMMIT with an error; whatever ends the session tells nothing.
 */
export function toCommitError(error: unknown): unknown {
  const { code, severity } = factsOf(error)
  const isUndone = severity === 'ERROR' && !UNKNOWN_OUTCOME_STATES.some((state) => code.startsWith(state))
  return isUndone ? error : new DomainError('change_outcome_unknown', OUTCOME_UNKNOWN, { cause: error })
}

/** Whether an error of this folder may pass without anybody doing anything about this program. */
export function mayPass(error: unknown): boolean {
  if (!isOutage(error) || error instanceof NewerSchema) return false
  return meaningOfRefusal(error.cause) === undefined
}

/** What the database or the system said, for a log. Several addresses of a host fail as one error without a message. */
export function whyUnavailable(error: Error): string {
  const { code, message } = factsOf(error.cause ?? error)
  return message === '' ? code : message
}

/** What it means that the database refuses, in words that every caller may read. Undefined if it does not refuse. */
export function meaningOfRefusal(error: unknown): string | undefined {
  const code = errorCodeOf(error)
  const state = isSqlState(code) ? Object.keys(REFUSALS).find((beginning) => code.startsWith(beginning)) : undefined
  return state === undefined ? undefined : `${REFUSALS[state]} (SQLSTATE ${code})`
}

function storageUnavailable(cause: unknown): DomainError {
  const meaning = cause instanceof NoResultError ? MISSING_ROW : meaningOfRefusal(cause)
  if (meaning !== undefined) return new StorageRefusal(meaning, cause)
  return new DomainError('storage_unavailable', 'the database is not available', { cause })
}

function isUnavailable(error: unknown): boolean {
  const { code, message } = factsOf(error)
  if (error instanceof NoResultError) return true
  if (SYSTEM_CODES.has(code) || isConflict(error) || meaningOfRefusal(error) !== undefined) return true
  if (isSqlState(code)) return UNAVAILABLE_STATES.some((state) => code.startsWith(state))
  return MESSAGES.some((pattern) => pattern.test(message))
}

function isConflict(error: unknown): boolean {
  return CONFLICT_STATES.includes(errorCodeOf(error))
}

function isLockTimeout(error: unknown): boolean {
  return errorCodeOf(error) === LOCK_TIMEOUT_STATE
}

function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code)
}

/** The SQLSTATE of an error of the database, or the code of one of the system; empty if it has none. */
export function errorCodeOf(error: unknown): string {
  return factsOf(error).code
}

/** What an error says of itself, each empty if it does not. */
function factsOf(error: unknown): { readonly code: string; readonly severity: string; readonly message: string } {
  if (typeof error !== 'object' || error === null) return { code: '', severity: '', message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const severity = 'severity' in error && typeof error.severity === 'string' ? error.severity : ''
  const message = 'message' in error && typeof error.message === 'string' ? error.message : ''
  return { code, severity, message }
}
