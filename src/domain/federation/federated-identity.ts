/**
 * Federated identities of service users: what a JWT of a trusted issuer must say to stand for a user.
 *
 * Every value is compared as a whole. There are no patterns: a subject such as `repo:shop/*` would trust workloads that do not exist
 * yet.
 */
import { DomainError } from '../errors.ts'
import type { ServiceUser } from '../identities/service-user.ts'

const MAX_IDENTITIES = 10

/** The longest subject of an identity, in characters. */
export const MAX_SUBJECT_LENGTH = 500

/** What a JWT must say. */
export interface FederatedIdentity {
  readonly identityId: string
  readonly issuerId: string
  readonly subject: string
  /** Null: the issuer of this service. */
  readonly audience: string | null
  readonly claims: readonly RequiredClaim[]
  readonly createdAt: Date
}

/** A claim that must be this text. */
export interface RequiredClaim {
  /** A JSON pointer to a member of an object (RFC 6901). */
  readonly pointer: string
  readonly value: string
}

/** Whom an issuer speaks of. */
export interface FederatedSubject {
  readonly issuerId: string
  readonly subject: string
}

/** What a JWT says whose signature, dates and issuer have been verified. */
export interface FederatedToken extends FederatedSubject {
  /** Its only audience. */
  readonly audience: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** @throws {DomainError} `federated_identity_limit_reached`. */
export function addIdentity(user: ServiceUser, identity: FederatedIdentity): ServiceUser {
  if (user.federatedIdentities.length >= MAX_IDENTITIES) {
    throw new DomainError(
      'federated_identity_limit_reached',
      `a user has at most ${MAX_IDENTITIES} federated identities: remove one first`,
    )
  }
  return { ...user, federatedIdentities: [...user.federatedIdentities, identity] }
}

/** @throws {DomainError} `federated_identity_not_found`. */
export function removeIdentity(user: ServiceUser, identityId: string): ServiceUser {
  const federatedIdentities = user.federatedIdentities.filter((identity) => identity.identityId !== identityId)
  if (federatedIdentities.length === user.federatedIdentities.length) {
    throw new DomainError('federated_identity_not_found', 'the user has no such federated identity')
  }
  return { ...user, federatedIdentities }
}

/** The identity that a token has, if it has one. @param ownIssuer The audience of identities that name none. */
export function identityOf(
  { federatedIdentities }: Pick<ServiceUser, 'federatedIdentities'>,
  token: FederatedToken,
  ownIssuer: string,
): FederatedIdentity | undefined {
  return federatedIdentities.find((identity) => misfitOf(identity, token, ownIssuer) === undefined)
}

/** What of a token is not what the identity asks for: `iss`, `sub`, `aud` or the pointer of a claim. Undefined: it fits. */
export function misfitOf(
  { issuerId, subject, audience, claims }: FederatedIdentity,
  token: FederatedToken,
  ownIssuer: string,
): string | undefined {
  if (issuerId !== token.issuerId) return 'iss'
  if (subject !== token.subject) return 'sub'
  if ((audience ?? ownIssuer) !== token.audience) return 'aud'
  return claims.find(({ pointer, value }) => valueAt(token.claims, pointer) !== value)?.pointer
}

/** The value that a JSON pointer to a member of an object refers to (RFC 6901 §4). Undefined: there is none. */
export function valueAt(claims: Readonly<Record<string, unknown>>, pointer: string): unknown {
  const names = pointer.split('/').slice(1).map(unescaped)
  return names.reduce<unknown>(
    (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    claims,
  )
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
