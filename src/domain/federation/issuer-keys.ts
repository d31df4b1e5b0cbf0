/**
 * Where the public keys of a trusted issuer come from: an administrator gives them, or they are fetched from where the issuer publishes them.
 */
import type { PublicJwk } from '../keys/key-algorithm.ts'

/** A public key of an issuer, with `kid` and `alg` if it has them. */
export type IssuerKey = PublicJwk & { readonly kid?: string; readonly alg?: string }

/** The keys of an issuer, as an administrator sets them. */
export type IssuerKeys = GivenKeys | { readonly kind: 'fetched'; readonly source: KeySource }

/** Keys that only an administrator changes. */
export interface GivenKeys {
  readonly kind: 'given'
  readonly keys: readonly IssuerKey[]
}

/** Where keys are fetched from, and what is trusted for it. */
export interface KeySource {
  /** The JWKS that the issuer names in its discovery document; the JWKS at a URL; the bundle of a SPIFFE trust domain at a URL. */
  readonly kind: 'discovery' | 'jwks_url' | 'spiffe_bundle_url'
  /** Null for discovery, whose address follows from the issuer. */
  readonly url: string | null
  /** Certificates (PEM) that are trusted instead of those of Node.js. */
  readonly caCertificates: string | null
  /** How long keys are used after they were last fetched, in seconds. */
  readonly maxStalenessSeconds: number
}

/** What this process knows of keys that are fetched. */
export interface FetchedKeys {
  /** As they were last fetched. Empty: never. */
  readonly keys: readonly IssuerKey[]
  readonly fetchedAt: Date | null
  /** From when the next JWT has them fetched. */
  readonly nextFetchAt: Date
  /** Why the last fetch failed, in words for the operator, and when. Null: it did not, or there was none. */
  readonly failure: { readonly reason: string; readonly at: Date } | null
}

/** An issuer that is away for a day keeps working by default. */
export const DEFAULT_MAX_STALENESS_SECONDS = 86_400

/** Whether two sets have the same keys, in whatever order. */
export function isSameSet(before: readonly IssuerKey[], after: readonly IssuerKey[]): boolean {
  return canonical(before) === canonical(after)
}

function canonical(keys: readonly IssuerKey[]): string {
  return JSON.stringify(keys.map((key) => JSON.stringify(Object.entries(key).sort())).sort())
}
