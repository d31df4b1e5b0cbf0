/**
 * The answer while this replica can issue no token and knows nothing that is recent enough to be published.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RETRY_AFTER_SECONDS } from '../domain/errors.ts'
import type { RequestContext } from '../domain/ports.ts'
import { UNAVAILABLE } from './errors.ts'
import { type Head, setHead } from './head.ts'

const BODY = JSON.stringify(UNAVAILABLE)

/** Answers 503, and says when to come back. */
export function answerUnavailable(
  req: IncomingMessage,
  res: ServerResponse,
  { head, notes }: { readonly head: Head; readonly notes: Pick<RequestContext, 'refused'> },
): void {
  notes.refused(req, UNAVAILABLE.error)
  setHead(res, head)
  res.writeHead(503, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': BODY.length,
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'retry-after': String(RETRY_AFTER_SECONDS),
  })
  res.end(BODY)
}
