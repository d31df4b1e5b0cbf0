/**
 * One HTTP request. Not `fetch`, which takes half as long again to load, follows redirects, and takes no certificates.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'

/** The largest body that is read unless the caller says otherwise, in bytes. */
const MAX_BYTES = 1 << 20

/** What is sent. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Aborts it: the call then throws its reason. */
  readonly signal: AbortSignal
  /** For https. */
  readonly tls?: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized'>
  /** The largest body that is read, in bytes. Default: 1 MiB. */
  readonly maxBytes?: number
}

/** What came back. A redirect is an answer like any other. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** Sends it. @throws {Error} of Node.js, with a `code`, if there is no answer. */
export async function sendRequest(url: URL, request: HttpRequest): Promise<HttpAnswer> {
  const { signal, maxBytes } = request
  try {
    return await readAnswer(await openRequest(url, request), maxBytes)
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}

/** Sends it, and returns the answer before its body. @throws like `sendRequest`. */
export function openRequest(url: URL, request: HttpRequest): Promise<IncomingMessage> {
  const { body, signal, tls, maxBytes: _, ...options } = request
  const start = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const sent = start(url, { ...options, ...tls, signal }, resolve)
    // Also after the answer has begun, of whose body it is an error then.
    sent.on('error', (error) => reject(signal.aborted ? signal.reason : error))
    sent.end(body)
  })
}

/** The whole answer. @param maxBytes The largest body, in bytes. Default: 1 MiB. */
export async function readAnswer(response: IncomingMessage, maxBytes = MAX_BYTES): Promise<HttpAnswer> {
  const { statusCode: status = 0, headers } = response
  return { status, headers, body: await readText(response, maxBytes) }
}

async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** The code of the system or of TLS for a request without an answer, in brackets. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
}

/** Undefined: the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The headers of an answer. */
export function headersOf({ headers }: HttpAnswer): Headers {
  return new Headers(Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one])))
}
