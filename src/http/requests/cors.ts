/**
 * What pages of other origins may do. Any origin may, because nothing here trusts a browser: there are no cookies, and a
 * page must bring its own token.
 */
import type { ServerResponse } from 'node:http'
import { cors as connect } from '@connectrpc/connect'
import { type Head, REQUEST_ID } from './exchange.ts'

/** What a path allows. */
export interface CorsPolicy {
  /** Lists, as headers have them. */
  readonly methods: string
  readonly requestHeaders: string
  readonly responseHeaders: string
}

/** How long a browser may remember the answer to a preflight, in seconds. Browsers cap it at two hours. */
const MAX_AGE = '7200'

/** For documents that anybody may read. */
export const READ_ONLY: CorsPolicy = {
  methods: 'GET, HEAD',
  requestHeaders: 'if-none-match',
  responseHeaders: ['etag', 'retry-after', REQUEST_ID].join(', '),
}

/** For Connect and gRPC-Web. */
export const RPC: CorsPolicy = {
  methods: connect.allowedMethods.join(', '),
  requestHeaders: [...connect.allowedHeaders, 'authorization', REQUEST_ID].join(', '),
  responseHeaders: [
    ...connect.exposedHeaders,
    'deprecation',
    'keyturn-warning',
    'link',
    'retry-after',
    'sunset',
    'www-authenticate',
    REQUEST_ID,
  ].join(', '),
}

/** What lets a page read the answer. */
export function allowOrigin({ responseHeaders }: CorsPolicy): Head {
  return ['access-control-allow-origin', '*', 'access-control-expose-headers', responseHeaders]
}

/** Answers a preflight request. */
export function answerPreflight(res: ServerResponse, { methods, requestHeaders }: CorsPolicy): void {
  res.writeHead(204, {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': methods,
    'access-control-allow-headers': requestHeaders,
    'access-control-max-age': MAX_AGE,
  })
  res.end()
}
