/**
 * The message and the exit code of a command that fails: 1 refused or failed, 2 wrong usage or configuration.
 */
import { ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { ConfigError } from '../config/config.ts'
import { DomainError } from '../domain/errors.ts'
import { FAILED, WRONG_USAGE } from './exit-codes.ts'

/** The exit code of a command that ended with this error: of the first one, if its cleanup failed too. */
export function exitCodeOf(error: unknown): number {
  const [cause] = error instanceof AggregateError ? error.errors : [error]
  return cause instanceof ConfigError ? WRONG_USAGE : FAILED
}

/** One message that says what went wrong; for a refused call with the stable reason. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConnectError) {
    const [info] = error.findDetails(ErrorInfoSchema)
    if (info !== undefined) return `${error.rawMessage} (${info.reason})`
    // A server that is starting, or a proxy, answers without the details of the API.
    return error.rawMessage === ''
      ? `${error.message} the server does not say why: try again in a moment`
      : error.message
  }
  if (error instanceof DomainError) {
    const advice = error.code === 'storage_unavailable' ? ': check KEYTURN_DATABASE_URL and the database' : ''
    return `${error.message}${reasonOf(error)}${advice}`
  }
  // The one of Node.js for several addresses of one host has no message.
  if (error instanceof AggregateError && error.message !== '') return error.errors.map(describeFailure).join('; then ')
  return error instanceof Error ? error.message : String(error)
}

/** The error of the database or the system, for the operator. Callers of the API do not get it. */
function reasonOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return ''
  // The error for several addresses of one host has a code and no message.
  const message = cause.message === '' && 'code' in cause ? String(cause.code) : cause.message
  return message === '' ? '' : `: ${message}`
}
