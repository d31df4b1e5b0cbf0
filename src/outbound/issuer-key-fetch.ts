/**
 * Fetches the public keys of issuers from where they publish them: the JWKS that an OpenID discovery document names, a JWKS, or the bundle
 * of a SPIFFE trust domain.
 */
import type { IssuerKey, KeySource } from '../domain/federation/issuer-keys.ts'
import type { GetDocument, GetOptions } from './https-document.ts'
import { FetchFailure } from './https-request.ts'

/** OpenID Connect Discovery 1.0 §4. */
const DISCOVERY_PATH = '/.well-known/openid-configuration'

/** What fetching needs. */
export interface IssuerKeyFetchOptions {
  readonly get: GetDocument
  /** Reads a JWKS or a bundle. @returns A text that says what is wrong with it, for the operator. */
  readonly parseKeys: (json: string, kind: 'jwks' | 'spiffe_bundle') => readonly IssuerKey[] | string
}

/** Fetches keys: one at least. @throws {FetchFailure} The reason of the signal, if that aborted it. */
export type FetchIssuerKeys = (issuer: string, source: KeySource, signal: AbortSignal) => Promise<readonly IssuerKey[]>

/** Makes the function. */
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
