/**
 * What a user is told when a command fails.
 */
import { ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { DomainError } from '../domain/errors.ts'

/** One message that says what went wrong; for a refused call with the stable reason. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConnectError) {
    const [info] = error.findDetails(ErrorInfoSchema)
    return info === undefined ? error.message : `${error.rawMessage} (${info.reason})`
  }
  if (error instanceof DomainError && error.cause instanceof Error) return `${error.message}: ${error.cause.message}`
  return error instanceof Error ? error.message : String(error)
}
