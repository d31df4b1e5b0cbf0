/**
 * Error responses of the OAuth endpoints that are sent without oidc-provider.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RETRY_AFTER_SECONDS } from '../domain/errors.ts'
import type { HeaderList } from '../domain/header-list.ts'
import type { RequestContext } from '../domain/ports/runtime.ts'
import { UNAVAILABLE } from './errors.ts'

interface ErrorResponse {
  readonly status: number
  readonly error: string
  readonly body: string
  readonly headers: HeaderList
}

const SERVICE_UNAVAILABLE: ErrorResponse = {
  status: 503,
  error: UNAVAILABLE.error,
  body: JSON.stringify(UNAVAILABLE),
  headers: ['retry-after', String(RETRY_AFTER_SECONDS)],
}

const UNSUPPORTED_CODING: ErrorResponse = {
  status: 415,
  error: 'invalid_request',
  body: JSON.stringify({
    error: 'invalid_request',
    error_description: 'the form must not be compressed: send it without Content-Encoding',
  }),
  headers: ['accept-encoding', 'identity'],
}

/** @param headers Of every response of the endpoint. */
export type SendError = (req: IncomingMessage, res: ServerResponse, headers: HeaderList) => void

/** 503 with `Retry-After`: no token can be issued, or no recent enough document can be published. */
export function createSendUnavailable(contexts: Pick<RequestContext, 'refused'>): SendError {
  return sender(SERVICE_UNAVAILABLE, contexts)
}

/** 415 with the content coding that is accepted (RFC 9110 §15.5.16). */
export function createRefuseCoding(contexts: Pick<RequestContext, 'refused'>): SendError {
  return sender(UNSUPPORTED_CODING, contexts)
}

function sender(
  { status, error, body, headers: own }: ErrorResponse,
  contexts: Pick<RequestContext, 'refused'>,
): SendError {
  const common = ['content-type', 'application/json; charset=utf-8', 'content-length', String(body.length)]
  const uncached = ['cache-control', 'no-store', 'pragma', 'no-cache']
  return (req, res, headers) => {
    contexts.refused(req, error)
    res.writeHead(status, [...headers, ...common, ...uncached, ...own]).end(body)
  }
}
