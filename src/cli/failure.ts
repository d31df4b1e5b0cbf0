/**
 * The message and the exit code of a command that fails: 1 refused or failed, 2 wrong usage or configuration, 128 and more interrupted.
 */
import type { JsonObject } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { ConfigError } from '../config/config.ts'
import { ConfigurationMistakes } from '../configuration-files/mistakes.ts'
import { DomainError } from '../domain/errors.ts'
import { printable } from '../domain/printable.ts'
import { infoOf } from './api.ts'
import { ConnectionError } from './connection/connection-failure.ts'
import { TokenRefusal } from './connection/token-request.ts'
import { EndWith, FAILED, Interruption, WRONG_USAGE } from './exit.ts'

export interface Failure {
  readonly message: string
  /**
   * What kind of failure: `usage`, `configuration`, `connection`, `interrupted`, `failed`, a code of the API such as `not_found`, or one of the token
   * endpoint such as `invalid_client` (RFC 6749 §5.2).
   */
  readonly code: string
  /** The stable reason of the API, such as `USER_NOT_FOUND`. */
  readonly reason?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly mistakes?: JsonObject[]
}

/** The exit code of a command that ended with this error: of the first one, if its cleanup failed too. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof EndWith) return error.exitCode
  return firstOf(error) instanceof ConfigError ? WRONG_USAGE : FAILED
}

export function failureOf(error: unknown): Failure {
  const first = firstOf(error)
  const info = infoOf(first)
  return {
    message: info === undefined ? describeFailure(error) : (first as ConnectError).rawMessage,
    code: codeOf(first),
    ...(info === undefined ? {} : { reason: info.reason }),
    ...(info === undefined || Object.keys(info.metadata).length === 0 ? {} : { metadata: info.metadata }),
    ...(first instanceof ConfigurationMistakes ? { mistakes: first.mistakes.map((mistake) => ({ ...mistake })) } : {}),
  }
}

/** One message that says what went wrong; for a refused call with the stable reason. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConnectError) {
    const info = infoOf(error)
    if (info !== undefined) return `${printable(error.rawMessage)} (${printable(info.reason)})`
    // A server that is starting, or a proxy, answers without the details of the API.
    return error.rawMessage === ''
      ? `${error.message} the server does not say why: try again in a moment`
      : printable(error.message)
  }
  if (error instanceof DomainError) {
    const advice = error.code === 'storage_unavailable' ? ': check KEYTURN_DATABASE_URL and the database' : ''
    return `${error.message}${causeOf(error)}${advice}`
  }
  // The one of Node.js for several addresses of one host has no message.
  if (error instanceof AggregateError && error.message !== '') return error.errors.map(describeFailure).join('; then ')
  return error instanceof Error ? error.message : String(error)
}

function firstOf(error: unknown): unknown {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error
}

function codeOf(error: unknown): string {
  if (error instanceof ConfigError) return 'configuration'
  if (error instanceof ConnectionError) return 'connection'
  if (error instanceof Interruption) return 'interrupted'
  if (error instanceof TokenRefusal || error instanceof DomainError) return error.code
  // `NotFound` is `not_found` in JSON (Connect protocol).
  if (error instanceof ConnectError) return Code[error.code].replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
  return 'failed'
}

/** The error of the database or the system, for the operator. Callers of the API do not get it. */
function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return ''
  // The error for several addresses of one host has a code and no message.
  const message = cause.message === '' && 'code' in cause ? String(cause.code) : cause.message
  return message === '' ? '' : `: ${message}`
}
