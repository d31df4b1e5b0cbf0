/**
 * The issuers whose JWTs prove who a workload is, and their legal changes. A JWT alone gives no right: which user it stands for is in
 * `identities/federated-identity.ts`.
 */
import { DomainError } from '../errors.ts'
import { isSameName } from '../identifiers.ts'
import { ASSERTION_ALGORITHMS, type AssertionAlgorithm } from '../keys/assertion-algorithm.ts'
import type { PublicJwk } from '../keys/key-algorithm.ts'

/** Every replica has all of them in memory. */
const MAX_ISSUERS = 50

/** That of projected tokens of Kubernetes unless their pod asks for another one. */
export const DEFAULT_MAX_LIFETIME_SECONDS = 3600

const SPIFFE = 'spiffe://'

export interface TrustedIssuer {
  readonly issuerId: string
  /** The exact `iss` of its JWTs, or `spiffe://<trust domain>`. */
  readonly issuer: string
  readonly keys: IssuerKeys
  readonly algorithms: readonly AssertionAlgorithm[]
  readonly maxLifetimeSeconds: number
  readonly createdAt: Date
}

export type IssuerEdit = Partial<Pick<TrustedIssuer, 'keys' | 'algorithms' | 'maxLifetimeSeconds'>>

/** The facts of a new issuer. Empty algorithms and a lifetime of 0 stand for the defaults. */
export type NewIssuer = Omit<TrustedIssuer, 'createdAt'>

/**
 * @param own The issuer of this service, whose tokens could renew themselves and outlive their revocation.
 * @throws {DomainError} `trusted_issuer_invalid` for `own`, also in another spelling, and for keys that cannot be fetched;
 * `trusted_issuer_taken`; `trusted_issuer_limit_reached`.
 */
export function addIssuer(
  issuers: readonly TrustedIssuer[],
  facts: NewIssuer,
  { date, own }: { readonly date: Date; readonly own: string },
): readonly TrustedIssuer[] {
  if (isSameName(facts.issuer, own)) {
    throw new DomainError(
      'trusted_issuer_invalid',
      'that is the issuer of Keyturn itself: its tokens are no proof here',
    )
  }
  assertFetchable(facts.issuer, facts.keys)
  if (issuers.some(({ issuer }) => issuer === facts.issuer)) {
    throw new DomainError('trusted_issuer_taken', 'this issuer is trusted already')
  }
  if (issuers.length >= MAX_ISSUERS) {
    throw new DomainError(
      'trusted_issuer_limit_reached',
      `at most ${MAX_ISSUERS} issuers are trusted: delete one first`,
    )
  }
  return [...issuers, { ...withDefaults(facts), createdAt: date }]
}

/** The same list if nothing changes. @throws {DomainError} `trusted_issuer_not_found`; `trusted_issuer_invalid`. */
export function editIssuer(
  issuers: readonly TrustedIssuer[],
  issuerId: string,
  edit: IssuerEdit,
): readonly TrustedIssuer[] {
  const before = existingIssuer(issuers, issuerId)
  if (edit.keys !== undefined) assertFetchable(before.issuer, edit.keys)
  const next = withDefaults({ ...before, ...edit })
  if (JSON.stringify(next) === JSON.stringify(before)) return issuers
  return issuers.map((issuer) => (issuer === before ? next : issuer))
}

/** @throws {DomainError} `trusted_issuer_not_found`. */
export function removeIssuer(issuers: readonly TrustedIssuer[], issuerId: string): readonly TrustedIssuer[] {
  const gone = existingIssuer(issuers, issuerId)
  return issuers.filter((issuer) => issuer !== gone)
}

export function existingIssuer(issuers: readonly TrustedIssuer[], issuerId: string): TrustedIssuer {
  const issuer = issuers.find((candidate) => candidate.issuerId === issuerId)
  if (issuer === undefined) throw new DomainError('trusted_issuer_not_found', 'there is no such trusted issuer')
  return issuer
}

/** Whether a text can be the `iss` of a trusted issuer, and so no client id. */
export function isIssuerName(text: string): boolean {
  return /^(?:https?|spiffe):\/\//.test(text)
}

/**
 * The trust domain of a SPIFFE ID with a path (SPIFFE-ID §2), as an issuer is named by it. Undefined for another text, and for the id
 * of a trust domain itself, which no workload has.
 */
export function trustDomainOf(spiffeId: string): string | undefined {
  return /^(spiffe:\/\/[a-z0-9._-]{1,255})(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)+$/.exec(spiffeId)?.[1]
}

/** Whether an issuer may speak of a subject. A SPIFFE trust domain has its own workloads only. */
export function mayVouchFor({ issuer }: Pick<TrustedIssuer, 'issuer'>, subject: string): boolean {
  return !issuer.startsWith(SPIFFE) || trustDomainOf(subject) === issuer
}

/** A SPIFFE trust domain publishes a bundle and no discovery document, and is the only issuer with a bundle. */
function assertFetchable(issuer: string, keys: IssuerKeys): void {
  if (keys.kind === 'given') return
  const { kind } = keys.source
  if ((kind === 'spiffe_bundle_url') !== issuer.startsWith(SPIFFE)) {
    throw new DomainError(
      'trusted_issuer_invalid',
      'the keys of spiffe://… come from a bundle, and those of no other issuer',
    )
  }
  if (kind === 'discovery' && !issuer.startsWith('https://')) {
    throw new DomainError('trusted_issuer_invalid', 'keys are fetched by https only: give those of this issuer by hand')
  }
}

function withDefaults<Facts extends Pick<TrustedIssuer, 'algorithms' | 'maxLifetimeSeconds'>>(facts: Facts): Facts {
  const { algorithms, maxLifetimeSeconds } = facts
  return {
    ...facts,
    algorithms: algorithms.length === 0 ? ASSERTION_ALGORITHMS : algorithms,
    maxLifetimeSeconds: maxLifetimeSeconds === 0 ? DEFAULT_MAX_LIFETIME_SECONDS : maxLifetimeSeconds,
  }
}

export type IssuerKey = PublicJwk & { readonly kid?: string; readonly alg?: string }

export type IssuerKeys = GivenKeys | { readonly kind: 'fetched'; readonly source: KeySource }

export interface GivenKeys {
  readonly kind: 'given'
  readonly keys: readonly IssuerKey[]
}

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

export function isSameSet(before: readonly IssuerKey[], after: readonly IssuerKey[]): boolean {
  return canonical(before) === canonical(after)
}

function canonical(keys: readonly IssuerKey[]): string {
  return JSON.stringify(keys.map((key) => JSON.stringify(Object.entries(key).sort())).sort())
}
