/**
 * One request over HTTP/1.1, for the endpoints that are no part of the API. It follows no redirect, which could take a secret
 * to another address.
 */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { ConnectionError, connectionFailure } from './connection-failure.ts'
import type { TlsOptions } from './tls-files.ts'

/** How long a response may take, in milliseconds. */
const TIMEOUT = 60_000

/** The largest response that is read, in bytes. */
const MAX_BYTES = 1 << 20

/** The request. */
interface Request {
  readonly tls: TlsOptions
  /** The body of a POST. Without one it is a GET. */
  readonly form?: URLSearchParams
}

/** The response. */
interface Response {
  readonly status: number
  /** The JSON of the body; undefined if it is not JSON. */
  readonly json: unknown
}

/** @throws {ConnectionError} if there is no response, or if it sends the client elsewhere. */
export async function requestJson(url: string, { tls, form }: Request): Promise<Response> {
  const body = form?.toString()
  const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    const start = url.startsWith('https:') ? httpsRequest : httpRequest
    const outgoing = start(url, {
      ...tls,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      agent: false,
      signal: AbortSignal.timeout(TIMEOUT),
    })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      let received = ''
      incoming.setEncoding('utf8')
      incoming.on('error', reject)
      incoming.on('data', (chunk: string) => {
        received += chunk
        if (received.length > MAX_BYTES) incoming.destroy(new Error('the response is too large'))
      })
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text: received }))
    })
    outgoing.end(body)
  }).catch((error: unknown) => {
    throw connectionFailure(error, url, tls)
  })
  if (status >= 300 && status < 400) {
    throw new ConnectionError(`cannot reach ${url}: it answers with a redirect (${status}): name the address itself`)
  }
  return { status, json: jsonOf(text) }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
