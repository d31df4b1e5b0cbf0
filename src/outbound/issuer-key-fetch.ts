/**
 * Fetches the public keys of issuers from where they publish them: the JWKS that an OpenID discovery document names, a JWKS, or the bundle
 * of a SPIFFE trust domain.
 */
import type { IncomingMessage } from 'node:http'
import type { IssuerKey, KeySource } from '../domain/federation/trusted-issuer.ts'
import {
  createSendHttps,
  describeFailure,
  FetchFailure,
  type HttpsRequestOptions,
  isHttpsUrl,
  readText,
} from './https-request.ts'

/** OpenID Connect Discovery 1.0 §4. */
const DISCOVERY_PATH = '/.well-known/openid-configuration'

/** JSON, and key sets in their own media type (RFC 7517 §8.5.2), without which kube-apiserver refuses to answer. */
const ACCEPTED = 'application/json, application/jwk-set+json'

interface GetOptions {
  /** Certificates (PEM) that are trusted instead of those of Node.js. */
  readonly caCertificates: string | null
  readonly signal: AbortSignal
}

/** Gets a document. @throws {FetchFailure} The reason of the signal, if that aborted it. */
export type GetDocument = (url: string, options: GetOptions) => Promise<string>

/** A hundred times the JWKS of most issuers. */
const MAX_BYTES = 256 * 1024

/** Of a URL in a message: issuers name URLs too. */
const MAX_PLACE_LENGTH = 200

export interface IssuerKeyFetchOptions {
  readonly get: GetDocument
  /** Reads a JWKS or a bundle. @returns A text that says what is wrong with it, for the operator. */
  readonly parseKeys: (json: string, kind: 'jwks' | 'spiffe_bundle') => readonly IssuerKey[] | string
}

/** Fetches keys: one at least. @throws {FetchFailure} The reason of the signal, if that aborted it. */
export type FetchIssuerKeys = (issuer: string, source: KeySource, signal: AbortSignal) => Promise<readonly IssuerKey[]>

export function createFetchIssuerKeys({ get, parseKeys }: IssuerKeyFetchOptions): FetchIssuerKeys {
  return async (issuer, { kind, url, caCertificates }, signal) => {
    const options = { caCertificates, signal }
    const text = await get(url ?? (await discoverJwks(issuer, get, options)), options)
    const keys = parseKeys(text, kind === 'spiffe_bundle_url' ? 'spiffe_bundle' : 'jwks')
    if (typeof keys === 'string') throw new FetchFailure(`what it answers is no key set: ${keys}`)
    return keys
  }
}

async function discoverJwks(issuer: string, get: GetDocument, options: GetOptions): Promise<string> {
  const text = await get(`${issuer.replace(/\/$/, '')}${DISCOVERY_PATH}`, options)
  const { issuer: named, jwks_uri: url } = parseObject(text)
  // Otherwise it is the document of another issuer (§4.3).
  if (named !== issuer) throw new FetchFailure(`the discovery document names another issuer${slashHint(named, issuer)}`)
  if (typeof url !== 'string') throw new FetchFailure('the discovery document has no jwks_uri')
  return url
}

/** The most frequent cause, without the name in the response. */
function slashHint(named: unknown, issuer: string): string {
  if (named === `${issuer}/`) return ': the same with / at the end'
  return issuer === `${named}/` ? ': the same without / at the end' : ''
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  } catch {
    // The error of the parser quotes the text.
  }
  throw new FetchFailure('the discovery document is no JSON object')
}

/** Makes a function that gets documents: those that are there, bounded in size. */
export function createGetDocument(options: Omit<HttpsRequestOptions, 'authorityHint'>): GetDocument {
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
    return await readText(response, MAX_BYTES)
  } finally {
    response.destroy()
  }
}
