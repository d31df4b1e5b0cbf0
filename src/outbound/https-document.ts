/**
 * Gets documents by https (`https-request.ts`): those that are there, bounded in size.
 */
import type { IncomingMessage } from 'node:http'
import {
  createSendHttps,
  describeFailure,
  FetchFailure,
  type HttpsRequestOptions,
  isHttpsUrl,
} from './https-request.ts'

/** JSON, and key sets in their own media type (RFC 7517 §8.5.2), without which kube-apiserver refuses to answer. */
const ACCEPTED = 'application/json, application/jwk-set+json'

/** How to get one. */
export interface GetOptions {
  /** Certificates (PEM) that are trusted instead of those of Node.js. */
  readonly caCertificates: string | null
  readonly signal: AbortSignal
}

/** Gets a document. @throws {FetchFailure} The reason of the signal, if that aborted it. */
export type GetDocument = (url: string, options: GetOptions) => Promise<string>

/** What getting documents needs. */
export type HttpsDocumentOptions = Omit<HttpsRequestOptions, 'authorityHint'>

/** A hundred times the JWKS of most issuers. */
const MAX_BYTES = 256 * 1024

/** Of a URL in a message: issuers name URLs too. */
const MAX_PLACE_LENGTH = 200

/** Makes the function. */
export function createGetDocument(options: HttpsDocumentOptions): GetDocument {
  const send = createSendHttps({ ...options, authorityHint: '--issuer-ca, ca_certificates' })
  return async (url, { caCertificates, signal }) => {
    if (!isHttpsUrl(url)) throw new FetchFailure('the URL of the keys is no https URL, or has a user in it')
    try {
      const headers = { accept: ACCEPTED, 'accept-encoding': 'identity' }
      const response = await send(url, { method: 'GET', headers, caCertificates, signal })
      return await read(response)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw new FetchFailure(`${placeOf(new URL(url))} ${describeFailure(error)}`, { cause: error })
    }
  }
}

/** Where a URL points to, without what could be secret in it, in characters that can be printed. */
function placeOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.slice(0, MAX_PLACE_LENGTH)
}

async function read(response: IncomingMessage): Promise<string> {
  try {
    const { statusCode = 0, headers } = response
    if (statusCode >= 300 && statusCode < 400) throw new FetchFailure('answers with a redirect, which is not followed')
    if (statusCode !== 200) throw new FetchFailure(`answers with status ${statusCode}`)
    // A compressed answer was not asked for, and a few bytes of it can become any number.
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new FetchFailure('answers in a compressed form')
    return await readText(response)
  } finally {
    response.destroy()
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new FetchFailure(`answers with more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
