/**
 * Which errors mean that the database is unavailable, and what callers see of them.
 *
 * Everything else is a mistake in a program or in the data and passes through as it is.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { DomainError } from '../domain/errors.ts'
import { EmbeddedDatabaseStopped } from './embedded-session.ts'
import { NewerSchema } from './schema-major.ts'

const MAX_ATTEMPTS = 5
const RETRY_DELAY_MILLIS = 10
const LOCK_RETRY_DELAY_MILLIS = 100

/** SQLSTATEs, or the classes that they begin with. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNAVAILABLE_STATES = [
  '08', // connection exception
  '25006', // read-only transaction: the server has become a standby
  '25P03', // idle in transaction for too long
  '25P04', // transaction took too long
  '28', // the server does not let us in
  '3D000', // the database does not exist
  '53', // insufficient resources, too many connections
  '55P03', // lock not available
  '57014', // statement timeout
  '57P', // shut down, crashed, starting up, terminated by an administrator
  '58', // I/O error of the server
]

/**
 * Those that an operator has to do something about. A database that does not exist is one: its name is more likely wrong
 * than about to come, and a program that ends with that message is started again by whatever creates databases late.
 */
const LASTING_STATES = ['28', '3D000']

/** The transaction lost against another one and was undone: it can simply be run again. */
const CONFLICT_STATES = ['40001', '40P01']

/** The wait for a lock took longer than one may, and the transaction was undone. */
const LOCK_TIMEOUT_STATE = '55P03'

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
 * logs: the message says nothing about the database.
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
        // Random, or those who collided once would collide again.
        await delay(Math.random() * (isConflict(error) ? RETRY_DELAY_MILLIS * 2 ** conflicts : LOCK_RETRY_DELAY_MILLIS))
      }
    }
  })
}

/** Whether an error of this folder may pass without anybody doing anything about this program. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof DomainError) || error.code !== 'storage_unavailable' || error instanceof NewerSchema)
    return false
  const { code } = factsOf(error.cause)
  return !isSqlState(code) || !LASTING_STATES.some((state) => code.startsWith(state))
}

/** What the database or the system said, for a log. Several addresses of a host fail as one error without a message. */
export function whyUnavailable({ cause }: Error): string {
  const { code, message } = factsOf(cause)
  return message === '' ? code : message
}

function storageUnavailable(cause: unknown): DomainError {
  return new DomainError('storage_unavailable', 'the database is not available', { cause })
}

function isUnavailable(error: unknown): boolean {
  const { code, message } = factsOf(error)
  if (error instanceof EmbeddedDatabaseStopped || SYSTEM_CODES.has(code) || isConflict(error)) return true
  if (isSqlState(code)) return UNAVAILABLE_STATES.some((state) => code.startsWith(state))
  return MESSAGES.some((pattern) => pattern.test(message))
}

function isConflict(error: unknown): boolean {
  return CONFLICT_STATES.includes(factsOf(error).code)
}

function isLockTimeout(error: unknown): boolean {
  return factsOf(error).code === LOCK_TIMEOUT_STATE
}

function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code)
}

function factsOf(error: unknown): { readonly code: string; readonly message: string } {
  if (typeof error !== 'object' || error === null) return { code: '', message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const message = 'message' in error && typeof error.message === 'string' ? error.message : ''
  return { code, message }
}
