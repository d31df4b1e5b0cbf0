/**
 * The public keys of a trusted issuer: given by an administrator, or fetched from where the issuer publishes them. When they are fetched,
 * and for how long those that were fetched last are used.
 *
 * The fetch itself is in `outbound/`. Who makes it is in `app/federation/issuer-key-refresher.ts`.
 */
import { type Backoff, backoffMillis } from '../backoff.ts'
import type { PublicJwk } from '../keys/key-algorithm.ts'
import { after } from '../time.ts'

/** A public key of an issuer, with `kid` and `alg` if it has them. */
export type IssuerKey = PublicJwk & { readonly kid?: string; readonly alg?: string }

export type IssuerKeys = GivenKeys | FetchedKeys

/** Keys that only an administrator changes. */
export interface GivenKeys {
  readonly kind: 'given'
  readonly keys: readonly IssuerKey[]
}

/** Keys that the issuer publishes. */
export interface FetchedKeys {
  readonly kind: 'fetched'
  readonly source: KeySource
  /** As they were last fetched. Empty before the first fetch, and if the issuer has none. */
  readonly keys: readonly IssuerKey[]
  readonly fetch: KeyFetch
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

export interface KeyFetch {
  /** When the last fetch that succeeded began. Null: none has. */
  readonly fetchedAt: Date | null
  /** When the last fetch began, whatever came of it. */
  readonly attemptedAt: Date | null
  /** When the next one is due. During a fetch: when it counts as lost, with its process. */
  readonly nextFetchAt: Date
  /** Held by the fetch under way. Only its holder may record an outcome. */
  readonly lease: string | null
  /** Why the last fetch failed, in words for the operator, and when. Null: it did not, or there was none. */
  readonly failure: { readonly reason: string; readonly at: Date } | null
  /** How many have failed in a row. */
  readonly failures: number
}

export type KeyFetchOutcome =
  /** `freshSeconds`: for how long the issuer says that they may be reused; null if it does not. */
  | { readonly kind: 'fetched'; readonly keys: readonly IssuerKey[]; readonly freshSeconds: number | null }
  /** `reason`: for the operator, with nothing of the response but the address that a discovery document names. */
  | { readonly kind: 'failed'; readonly reason: string }

/** An issuer that is away for a day keeps working by default. */
export const DEFAULT_MAX_STALENESS_SECONDS = 86_400

/** From one fetch to the next, whatever the issuer says, in seconds. The longest bounds how long a key is trusted that the issuer withdrew. */
const REFRESH = { shortest: 60, longest: 3600, unspecified: 300 }

/** From one fetch to one for a key that is not known, in seconds. Anyone can send JWTs with invented ones. */
const COOLDOWN_SECONDS = 30

/** How far the clocks of two replicas may differ, in seconds. */
const MAX_AHEAD_SECONDS = 30

/** A fetch is aborted long before that. */
const LEASE_SECONDS = 60

const RETRY: Backoff = { first: 10_000, longest: 5 * 60_000 }

/** The share by which waits are shortened at random, so that issuers that failed together are not asked together. */
const JITTER = 0.2

/** Keys of a source from which none have been fetched. */
export function notFetched(source: KeySource, at: Date): FetchedKeys {
  const fetch = { fetchedAt: null, attemptedAt: null, nextFetchAt: at, lease: null, failure: null, failures: 0 }
  return { kind: 'fetched', source, keys: [], fetch }
}

/** Whether keys of one source are those of the other. How long they are used does not matter. */
export function isSameSource(one: KeySource, other: KeySource): boolean {
  return one.kind === other.kind && one.url === other.url && one.caCertificates === other.caCertificates
}

/** From when fetched keys are not used, unless they are fetched again before. Null: none have been fetched. */
export function expiryOf({ source, fetch }: FetchedKeys): Date | null {
  return fetch.fetchedAt === null ? null : after(fetch.fetchedAt, source.maxStalenessSeconds)
}

/** The keys that JWTs may be verified with now, or why there are none. */
export function usableKeys(
  known: IssuerKeys,
  now: Date,
):
  | { readonly kind: 'usable'; readonly keys: readonly IssuerKey[] }
  | { readonly kind: 'none'; readonly reason: string } {
  if (known.kind === 'given') return { kind: 'usable', keys: known.keys }
  const { keys, fetch } = known
  const expiresAt = expiryOf(known)
  if (expiresAt !== null && now < expiresAt) return { kind: 'usable', keys }
  const since =
    expiresAt === null ? 'have not been fetched yet' : `are too old: not used since ${expiresAt.toISOString()}`
  const reason = `the keys of the issuer ${since}`
  return { kind: 'none', reason: fetch.failure === null ? reason : `${reason}: ${fetch.failure.reason}` }
}

/**
 * Whether to begin a fetch now. Not while another one is under way.
 *
 * @param isWanted Whether a JWT came whose key is not known.
 */
export function isFetchDue(
  { fetch }: FetchedKeys,
  { now, isWanted }: { readonly now: Date; readonly isWanted: boolean },
): boolean {
  const { attemptedAt, nextFetchAt, lease } = fetch
  if (now >= nextFetchAt || isOfAnotherClock(fetch, now)) return true
  return isWanted && lease === null && (attemptedAt === null || now >= after(attemptedAt, COOLDOWN_SECONDS))
}

/** The keys with a fetch that is due now. One that is under way will do. */
export function requestFetch(known: FetchedKeys, now: Date): FetchedKeys {
  const { lease, nextFetchAt } = known.fetch
  if (lease !== null && now < nextFetchAt && !isOfAnotherClock(known.fetch, now)) return known
  return { ...known, fetch: { ...known.fetch, nextFetchAt: now } }
}

/** Whether the clock has been set back since the last fetch began, so that what was due then may lie far ahead. */
function isOfAnotherClock({ attemptedAt }: FetchedKeys['fetch'], now: Date): boolean {
  return attemptedAt !== null && attemptedAt > after(now, MAX_AHEAD_SECONDS)
}

/** The keys while a fetch is under way. @param lease Unique. */
export function beginFetch(known: FetchedKeys, lease: string, now: Date): FetchedKeys {
  const fetch = { ...known.fetch, attemptedAt: now, nextFetchAt: after(now, LEASE_SECONDS), lease }
  return { ...known, fetch }
}

/** The keys after a fetch that ended without an outcome: another one is due. */
export function releaseFetch(known: FetchedKeys, now: Date): FetchedKeys {
  return { ...known, fetch: { ...known.fetch, nextFetchAt: now, lease: null } }
}

export interface FetchResult {
  readonly next: FetchedKeys
  /**
   * Whether JWTs are judged otherwise than before: other keys, or the same ones again after they had expired. Replicas must know that at
   * once; that the same keys were fetched again can wait until they look.
   */
  readonly kind: 'changed' | 'unchanged' | 'failed'
}

/**
 * Takes the outcome of a fetch into account.
 *
 * @param random From 0 to below 1.
 */
export function endFetch(
  known: FetchedKeys,
  outcome: KeyFetchOutcome,
  { now, random }: { readonly now: Date; readonly random: number },
): FetchResult {
  const { fetch, source } = known
  const jitter = JITTER * random
  if (outcome.kind === 'failed') {
    const failures = fetch.failures + 1
    const nextFetchAt = after(now, backoffMillis(failures, { ...RETRY, jitter }) / 1000)
    const failure = { reason: outcome.reason, at: now }
    return { kind: 'failed', next: { ...known, fetch: { ...fetch, nextFetchAt, lease: null, failure, failures } } }
  }
  const { attemptedAt } = fetch
  const expiresAt = expiryOf(known)
  const isChange = expiresAt === null || now >= expiresAt || !isSameSet(known.keys, outcome.keys)
  const nextFetchAt = after(now, Math.max(REFRESH.shortest, refreshSeconds(outcome, source) * (1 - jitter)))
  const next: FetchedKeys = {
    ...known,
    keys: isChange ? outcome.keys : known.keys,
    fetch: { fetchedAt: attemptedAt ?? now, attemptedAt, nextFetchAt, lease: null, failure: null, failures: 0 },
  }
  return { kind: isChange ? 'changed' : 'unchanged', next }
}

/** As the issuer says, within bounds, and so that a fetch may fail once before the keys are too old. */
function refreshSeconds({ freshSeconds }: { readonly freshSeconds: number | null }, source: KeySource): number {
  return Math.min(freshSeconds ?? REFRESH.unspecified, REFRESH.longest, source.maxStalenessSeconds / 2)
}

/** Whether two sets have the same keys, in whatever order. */
export function isSameSet(before: readonly IssuerKey[], after: readonly IssuerKey[]): boolean {
  return canonical(before) === canonical(after)
}

function canonical(keys: readonly IssuerKey[]): string {
  return JSON.stringify(keys.map((key) => JSON.stringify(Object.entries(key).sort())).sort())
}
