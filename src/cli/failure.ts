/**
 * The message of a command that fails.
 */
import { ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { DomainError } from '../domain/errors.ts'

/** One message that says what went wrong; for a refused call with the stable reason. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConnectError) {
    const [info] = error.findDetails(ErrorInfoSchema)
    if (info !== undefined) return `${error.rawMessage} (${info.reason})`
    // What a server that starts answers, or a proxy, is no answer of the API.
    return error.rawMessage === ''
      ? `${error.message} the server does not say why: try again in a moment`
      : error.message
  }
  if (error instanceof DomainError) {
    const advice = error.code === 'storage_unavailable' ? ': check KEYTURN_DATABASE_URL and the database' : ''
    return `${error.message}${reasonOf(error)}${advice}`
  }
  if (error instanceof SuppressedError)
    return `${describeFailure(error.suppressed)}; then ${describeFailure(error.error)}`
  return error instanceof Error ? error.message : String(error)
}

/** What the database or the system said. It is for the operator: callers of the API never see it. */
function reasonOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return ''
  // Several addresses of one host fail as one error without a message, but with a code.
  const said = cause.message === '' && 'code' in cause ? String(cause.code) : cause.message
  return said === '' ? '' : `: ${said}`
}
