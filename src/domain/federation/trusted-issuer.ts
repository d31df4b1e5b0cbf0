/**
 * The issuers whose JWTs prove who a workload is, and their legal changes. A JWT alone gives no right: which user it stands for is in
 * `identities/federated-identity.ts`.
 */
import { DomainError } from '../errors.ts'
import { ASSERTION_ALGORITHMS, type AssertionAlgorithm } from '../keys/assertion-algorithm.ts'
import { isSameName } from '../uri.ts'
import type { IssuerKeys } from './issuer-keys.ts'

/** Every replica has all of them in memory. */
const MAX_ISSUERS = 50

/** That of projected tokens of Kubernetes unless their pod asks for another one. */
export const DEFAULT_MAX_LIFETIME_SECONDS = 3600

/** The scheme of SPIFFE IDs and trust domains (SPIFFE-ID §2). */
const SPIFFE = 'spiffe://'

/** An issuer whose JWTs are believed. */
export interface TrustedIssuer {
  readonly issuerId: string
  /** The exact `iss` of its JWTs, or `spiffe://<trust domain>`. */
  readonly issuer: string
  readonly keys: IssuerKeys
  readonly algorithms: readonly AssertionAlgorithm[]
  readonly maxLifetimeSeconds: number
  readonly createdAt: Date
}

/** What an administrator can change of an issuer. Those that are left out stay. */
export type IssuerEdit = Partial<Pick<TrustedIssuer, 'keys' | 'algorithms' | 'maxLifetimeSeconds'>>

/** The facts of a new issuer. Empty algorithms and a lifetime of 0 stand for the defaults. */
export type NewIssuer = Omit<TrustedIssuer, 'createdAt'>

/**
 * @param own The issuer of this service, whose tokens could renew themselves and outlive their revocation.
 * @throws {DomainError} `trusted_issuer_invalid` for `own`, also in another spelling, and for keys that cannot be fetched as it is asked;
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

/** The issuer with this id. @throws {DomainError} `trusted_issuer_not_found`. */
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
