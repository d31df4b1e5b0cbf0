/**
 * Errors of calls of the API.
 */
import { ConnectError } from '@connectrpc/connect'
import { type ErrorInfo, ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { ConnectionError } from './connection/connection-failure.ts'
import { TokenRefusal } from './token-request.ts'

/** What a call failed with before there was an answer of the API, which Connect has as a cause; or the error itself. */
export function causeOfCall(error: unknown): unknown {
  const cause = error instanceof ConnectError ? error.cause : undefined
  return cause instanceof ConnectionError || cause instanceof TokenRefusal ? cause : error
}

/** The details of a refused call; undefined for another error. */
export function infoOf(error: unknown): ErrorInfo | undefined {
  return error instanceof ConnectError ? error.findDetails(ErrorInfoSchema)[0] : undefined
}

/** The stable reason of a refused call; undefined for another error. */
export function refusalReasonOf(error: unknown): string | undefined {
  return infoOf(error)?.reason
}

/** The same refusal with another message. Another error stays as it is. */
export function withMessage(error: unknown, reword: (message: string) => string): unknown {
  if (!(error instanceof ConnectError)) return error
  const same = new ConnectError(reword(error.rawMessage), error.code, error.metadata, [], error.cause)
  same.details = error.details
  return same
}
