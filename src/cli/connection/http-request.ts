/**
 * One HTTP request for JSON, for what is no part of the API. Not `fetch`, which takes no certificates.
 */
import { request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'

interface HttpRequest {
  /** The body of a POST. Without one it is a GET. */
  readonly form?: URLSearchParams | undefined
  /** Aborts it: the call then throws its reason. */
  readonly signal: AbortSignal
  readonly tls: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized'>
}

/** What came back. A redirect is an answer like any other. */
export interface HttpAnswer {
  readonly status: number
  /** Empty: the body is no JSON object. */
  readonly json: Readonly<Record<string, unknown>>
}

/** @throws {Error} of Node.js, with a `code`, if there is no answer. */
export async function requestJson(url: URL, { form, signal, tls }: HttpRequest): Promise<HttpAnswer> {
  const start = url.protocol === 'https:' ? requestHttps : requestHttp
  const headers = {
    accept: 'application/json',
    ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
  }
  return await new Promise<HttpAnswer>((resolve, reject) => {
    const fail = (error: unknown) => reject(signal.aborted ? signal.reason : error)
    const request = start(url, { method: form === undefined ? 'GET' : 'POST', headers, signal, ...tls }, (response) => {
      const { statusCode: status = 0 } = response
      text(response).then((body) => resolve({ status, json: parseObject(body) }), fail)
    })
    request.on('error', fail).end(form?.toString())
  })
}

function parseObject(text: string): HttpAnswer['json'] {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
