/**
 * One request for JSON, for the endpoints that are no part of the API. It follows no redirect, which could take a secret to
 * another address.
 */
import { parseJson, sendRequest } from '../http-request.ts'
import { ConnectionError, connectionFailure } from './connection-failure.ts'
import type { TlsOptions } from './tls-files.ts'

/** How long a response may take, in milliseconds. */
const TIMEOUT = 60_000

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
  const sent =
    form === undefined
      ? ({ method: 'GET', headers: { accept: 'application/json' } } as const)
      : ({
          method: 'POST',
          headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
          body: form.toString(),
        } as const)
  const signal = AbortSignal.timeout(TIMEOUT)
  const { status, body } = await sendRequest(new URL(url), { ...sent, tls, signal }).catch((error: unknown) => {
    throw connectionFailure(error, url, tls)
  })
  if (status >= 300 && status < 400) {
    throw new ConnectionError(`cannot reach ${url}: it answers with a redirect (${status}): name the address itself`)
  }
  return { status, json: parseJson(body) }
}
