/**
 * CORS. Any origin is allowed where a path has a policy, because no cookie or other ambient credential counts there: a page must send
 * its own token. The paths of the console, which take a cookie, have none.
 */
import type { ServerResponse } from 'node:http'
import { cors as connect } from '@connectrpc/connect'
import type { HeaderList } from '../../domain/http-headers.ts'
import { REQUEST_ID } from './exchange.ts'

export interface CorsPolicy {
  /** Comma-separated lists, as in the headers. */
  readonly methods: string
  readonly requestHeaders: string
  readonly responseHeaders: string
}

/** How long a browser may cache the response to a preflight, in seconds. Browsers cap it at two hours. */
const MAX_AGE = '7200'

export const READ_ONLY: CorsPolicy = {
  methods: 'GET, HEAD',
  requestHeaders: 'if-none-match',
  responseHeaders: ['etag', 'retry-after', REQUEST_ID].join(', '),
}

export const RPC: CorsPolicy = {
  methods: connect.allowedMethods.join(', '),
  requestHeaders: [...connect.allowedHeaders, 'authorization', 'dpop', REQUEST_ID].join(', '),
  responseHeaders: [
    ...connect.exposedHeaders,
    'deprecation',
    'dpop-nonce',
    'keyturn-warning',
    'link',
    'retry-after',
    'sunset',
    'www-authenticate',
    REQUEST_ID,
  ].join(', '),
}

/** The headers that let a page read the response. */
export function allowOrigin({ responseHeaders }: CorsPolicy): HeaderList {
  return ['access-control-allow-origin', '*', 'access-control-expose-headers', responseHeaders]
}

export function answerPreflight(res: ServerResponse, { methods, requestHeaders }: CorsPolicy): void {
  res.writeHead(204, {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': methods,
    'access-control-allow-headers': requestHeaders,
    'access-control-max-age': MAX_AGE,
  })
  res.end()
}
