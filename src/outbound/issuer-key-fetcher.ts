/**
 * Fetches the public keys of issuers from where they publish them: the JWKS that an OpenID discovery document names, a JWKS, or the bundle
 * of a SPIFFE trust domain.
 */
import type { IssuerKey, KeyFetchOutcome, KeySource } from '../domain/federation/issuer-keys.ts'
import { freshSeconds } from './freshness.ts'
import type { GetDocument, GetOptions } from './https-document.ts'
import { FetchFailure } from './https-request.ts'

/** OpenID Connect Discovery 1.0 §4. */
const DISCOVERY_PATH = '/.well-known/openid-configuration'

/** For all of a fetch: names, connections, and each byte of the documents. */
const TIMEOUT_MILLIS = 10_000

/** Keys as they are published. */
export interface PublishedKeys {
  readonly keys: readonly IssuerKey[]
  /** `spiffe_refresh_hint` of a bundle. */
  readonly refreshSeconds: number | null
}

/** What fetching needs. */
export interface IssuerKeyFetcherOptions {
  readonly get: GetDocument
  /** Reads a JWKS or a bundle. @returns A text that says what is wrong with it, for the operator. */
  readonly parseKeys: (json: string, kind: 'jwks' | 'spiffe_bundle') => PublishedKeys | string
  readonly timeoutMillis?: number
}

/** Fetches keys. */
export interface IssuerKeyFetcher {
  /** Takes no longer than the timeout. @param stop Aborts it. */
  fetch(issuer: string, source: KeySource, stop: AbortSignal): Promise<KeyFetchOutcome>
}

/** Makes a fetcher. */
export function createIssuerKeyFetcher(options: IssuerKeyFetcherOptions): IssuerKeyFetcher {
  const { timeoutMillis = TIMEOUT_MILLIS } = options
  return {
    fetch: async (issuer, source, stop) => {
      const timeout = AbortSignal.timeout(timeoutMillis)
      try {
        return await fetchKeys(issuer, source, { ...options, signal: AbortSignal.any([stop, timeout]) })
      } catch (error) {
        if (stop.aborted) return { kind: 'failed', reason: 'it was aborted' }
        if (timeout.aborted) return { kind: 'failed', reason: `no complete answer within ${timeoutMillis / 1000} s` }
        if (error instanceof FetchFailure) return { kind: 'failed', reason: error.message }
        throw error
      }
    },
  }
}

type Fetching = IssuerKeyFetcherOptions & Pick<GetOptions, 'signal'>

async function fetchKeys(issuer: string, source: KeySource, fetching: Fetching): Promise<KeyFetchOutcome> {
  const { get, parseKeys, signal } = fetching
  const { caCertificates } = source
  const url = source.url ?? (await discoverJwks(issuer, source, fetching))
  const { text, headers } = await get(url, { caCertificates, signal })
  const isBundle = source.kind === 'spiffe_bundle_url'
  const published = parseKeys(text, isBundle ? 'spiffe_bundle' : 'jwks')
  if (typeof published === 'string') throw new FetchFailure(`what it answers is no key set: ${published}`)
  const { keys, refreshSeconds } = published
  return { kind: 'fetched', keys, freshSeconds: isBundle ? refreshSeconds : freshSeconds(headers, Date.now()) }
}

async function discoverJwks(issuer: string, { caCertificates }: KeySource, { get, signal }: Fetching): Promise<string> {
  const { text } = await get(`${issuer.replace(/\/$/, '')}${DISCOVERY_PATH}`, { caCertificates, signal })
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
