/**
 * The headers of responses, which are the same wherever they appear.
 */
import { type Json, refTo } from './json.ts'

const HEADERS = {
  'Cache-Control': {
    description: 'Whether and how long the response may be reused.',
    required: true,
    schema: { type: 'string' },
  },
  Deprecation: {
    description: 'Since when the service is deprecated (RFC 9745).',
    required: true,
    schema: { type: 'string', pattern: '^@[0-9]+$' },
  },
  'DPoP-Nonce': {
    description: 'A nonce for the next DPoP proof (RFC 9449 §8).',
    schema: { type: 'string' },
  },
  ETag: { description: 'The version of the document.', required: true, schema: { type: 'string' } },
  'Keyturn-Warning': {
    description: 'Warnings about a call that succeeded: sentences in English, separated by semicolons.',
    schema: { type: 'string' },
  },
  Link: {
    description: 'The method to call instead, with `rel="successor-version"` (RFC 5829).',
    required: true,
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'After how many seconds to try again.',
    required: true,
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  Sunset: {
    description: 'Not removed before this time (RFC 8594).',
    required: true,
    schema: { type: 'string' },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 9110 §11.6.1).',
    required: true,
    schema: { type: 'string' },
  },
  'X-Request-Id': {
    description: 'The id of the request in the log and in the audit trail.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
} as const satisfies Readonly<Record<string, Json>>

/** The name of a header. */
export type HeaderName = keyof typeof HEADERS

/** The headers as components. */
export const HEADER_COMPONENTS: Json = HEADERS

/** The headers of a response. */
export function headersOf(names: readonly HeaderName[]): Json {
  const all: readonly HeaderName[] = [...names, 'X-Request-Id']
  return { headers: Object.fromEntries(all.map((name) => [name, refTo('headers', name)])) }
}
