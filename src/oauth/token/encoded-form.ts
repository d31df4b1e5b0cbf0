/**
 * Refuses forms that are compressed. The engine would read them as if they were not, and find no field in them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestContext } from '../../domain/ports.ts'
import { type Head, setHead } from '../head.ts'

const ERROR = 'invalid_request'
const BODY = JSON.stringify({
  error: ERROR,
  error_description: 'the form must not be compressed: send it without Content-Encoding',
})

/** Whether the content of a request has a coding. `identity` is none, although RFC 9110 §8.4.1 reserves it for `Accept-Encoding`. */
export function isEncoded({ headers }: IncomingMessage): boolean {
  const coding = headers['content-encoding']
  return coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity'
}

/** Answers 415, with the coding that is taken (RFC 9110 §15.5.16). */
export function refuseEncoding(
  req: IncomingMessage,
  res: ServerResponse,
  { head, notes }: { readonly head: Head; readonly notes: Pick<RequestContext, 'refused'> },
): void {
  notes.refused(req, ERROR)
  setHead(res, head)
  res.writeHead(415, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': BODY.length,
    'accept-encoding': 'identity',
    'cache-control': 'no-store',
    pragma: 'no-cache',
  })
  res.end(BODY)
}
