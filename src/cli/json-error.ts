/**
 * Errors of calls in the JSON form of the Connect protocol. Loaded when there is one.
 */
import type { JsonValue } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { Code, ConnectError } from '@connectrpc/connect'
import { type HttpAnswer, headersOf } from './http-request.ts'

/** As the protocol writes them: `failed_precondition`. */
const CODES = new Map(
  Object.entries(Code).flatMap(([name, code]) =>
    typeof code === 'number' ? [[name.replaceAll(/(?<!^)[A-Z]/g, '_$&').toLowerCase(), code] as const] : [],
  ),
)

/** What a status means when its body is no error of the API, as the protocol says. */
const CODES_OF_STATUS: Readonly<Record<number, Code>> = {
  400: Code.Internal,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.Unimplemented,
  429: Code.Unavailable,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.Unavailable,
}

/** The error that an answer is. @param document Its body, if that is JSON. */
export function errorOf(answer: HttpAnswer, document: JsonValue | undefined): ConnectError {
  const { code, message, details } = (document ?? {}) as {
    readonly code?: unknown
    readonly message?: unknown
    readonly details?: unknown
  }
  const known = CODES.get(String(code))
  if (known === undefined) {
    return new ConnectError(`HTTP ${answer.status}`, CODES_OF_STATUS[answer.status] ?? Code.Unknown, headersOf(answer))
  }
  const error = new ConnectError(typeof message === 'string' ? message : '', known, headersOf(answer))
  for (const detail of Array.isArray(details) ? details : []) {
    const { type, value } = (detail ?? {}) as { readonly type?: unknown; readonly value?: unknown }
    if (typeof type === 'string' && typeof value === 'string') error.details.push({ type, value: base64Decode(value) })
  }
  return error
}
