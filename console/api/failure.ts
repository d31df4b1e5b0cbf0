/**
 * Why a call failed, in the words of the API.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'

/** A call that failed. */
export interface Failure {
  /** A sentence without a full stop, as the API wrote it. */
  readonly message: string
  /** The stable reason of the API; empty if it did not answer. */
  readonly reason: string
  /** Whether the same call may succeed later. */
  readonly isTransient: boolean
}

/** Codes of failures that pass by themselves. */
const TRANSIENT: readonly Code[] = [
  Code.Unavailable,
  Code.Unknown,
  Code.Internal,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Aborted,
]

/** Reads an error of a call. */
export function failureOf(error: unknown): Failure {
  const failed = ConnectError.from(error)
  const { code, rawMessage } = failed
  const reason = failed.findDetails(ErrorInfoSchema)[0]?.reason ?? ''
  const isUnreached = reason === '' && (code === Code.Unknown || code === Code.Unavailable || code === Code.Internal)
  return {
    message: isUnreached ? 'the server did not answer' : rawMessage,
    reason,
    isTransient: TRANSIENT.includes(code),
  }
}
