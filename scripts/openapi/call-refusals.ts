/**
 * The responses of calls that are refused or fail: errors of the Connect protocol, whose codes decide the HTTP status, and refusals of
 * the server before there is a call.
 */
import { Code } from '@connectrpc/connect'
import { codeToString } from '@connectrpc/connect/protocol-connect'
import { type HeaderName, headersOf } from './headers.ts'
import { type Json, refTo } from './json.ts'

interface Refusal {
  /** Of the component. */
  readonly name: string
  readonly description: string
  readonly headers?: readonly HeaderName[]
}

/** By HTTP status. */
export const CALL_REFUSALS = {
  400: {
    name: 'Invalid',
    description:
      'The request breaks a rule of its schema (`invalid_argument`), or what it asks for is not possible as things are (`failed_precondition`).',
  },
  401: {
    name: 'Unauthenticated',
    description:
      'There is no token, or one that is not accepted (`unauthenticated`). A token that is bound to a key needs a DPoP proof (RFC 9449 §7.1).',
    headers: ['DPoP-Nonce', 'WWW-Authenticate'],
  },
  403: {
    name: 'PermissionDenied',
    description: 'No role of the caller includes the permission (`permission_denied`).',
  },
  404: { name: 'NotFound', description: 'What the request names does not exist (`not_found`).' },
  409: {
    name: 'AlreadyExists',
    description: 'The name is taken (`already_exists`), or the instance has changed meanwhile (`aborted`).',
  },
  413: {
    name: 'TooLong',
    description: 'The body is longer than 64 KiB, or 4 MiB with a configuration (`resource_exhausted`).',
  },
  415: { name: 'UnsupportedContentType', description: 'The content type is none of a call (`invalid_argument`).' },
  429: {
    name: 'ResourceExhausted',
    description:
      'A limit is reached (`resource_exhausted`). If waiting helps, `Retry-After` says how many seconds; the reason says which limit it is.',
  },
  500: {
    name: 'Failed',
    description:
      'The change may be stored or not: check before you repeat it (`unknown`). Or the server is at fault (`internal`).',
  },
  501: {
    name: 'Unimplemented',
    description: 'The body has a content coding other than gzip, or the service is switched off (`unimplemented`).',
  },
  503: {
    name: 'Unavailable',
    description: 'Nothing has changed: try again (`unavailable`).',
    headers: ['Retry-After'],
  },
  504: {
    name: 'DeadlineExceeded',
    description: 'The deadline is over: that of `Connect-Timeout-Ms`, or 60 seconds (`deadline_exceeded`).',
  },
} as const satisfies Readonly<Record<number, Refusal>>

/** The HTTP status of a call that is refused. */
export type CallStatus = keyof typeof CALL_REFUSALS

/** The responses as components. */
export function callRefusals(): Json {
  const refusals: readonly Refusal[] = Object.values(CALL_REFUSALS)
  return Object.fromEntries(
    refusals.map(({ name, description, headers = [] }) => [
      name,
      {
        description,
        ...headersOf(headers),
        content: { 'application/json': { schema: refTo('schemas', 'connect.Error') } },
      },
    ]),
  )
}

/** The schemas of an error in the JSON of Connect. @param details The details that Keyturn sends, in their JSON. */
export function errorSchemas(details: readonly Json[]): Json {
  return {
    'connect.Error': {
      type: 'object',
      description: 'An error of the Connect protocol. Decide by the `reason` in its details, never by the message.',
      properties: {
        code: { type: 'string', description: 'Decides the HTTP status.', enum: CODES },
        message: { type: 'string', description: 'For people.' },
        details: { type: 'array', items: refTo('schemas', 'connect.ErrorDetail') },
      },
      required: ['code', 'message'],
    },
    'connect.ErrorDetail': {
      type: 'object',
      description: 'A detail of an error.',
      properties: {
        type: { type: 'string', description: 'The name of the message.', examples: ['google.rpc.ErrorInfo'] },
        value: { type: 'string', description: 'The message in protobuf, as base64 without padding.' },
        debug: { description: 'The message in JSON.', anyOf: [...details, { type: 'object' }] },
      },
      required: ['type', 'value'],
    },
  }
}

const CODES = Object.values(Code)
  .filter((code) => typeof code === 'number')
  .map(codeToString)
