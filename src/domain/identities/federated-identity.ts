/**
 * Federated identities of service users: what a JWT of a trusted issuer must say to stand for a user.
 *
 * Every value is compared as a whole. There are no patterns: a subject such as `repo:shop/*` would trust workloads that do not exist
 * yet.
 */
import { credentialsOf, type FederatedIdentity } from './credential.ts'
import type { ServiceUser } from './service-user.ts'

export const MAX_SUBJECT_LENGTH = 500

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

/** The identity that a token has, if it has one. @param ownIssuer The audience of identities that name none. */
export function identityOf(
  user: Pick<ServiceUser, 'credentials'>,
  token: FederatedToken,
  ownIssuer: string,
): FederatedIdentity | undefined {
  return credentialsOf(user, 'federated_identity').find(
    (identity) => misfitOf(identity, token, ownIssuer) === undefined,
  )
}

/** What of a token is not what the identity asks for: `iss`, `sub`, `aud` or the pointer of a claim. Undefined: it fits. */
export function misfitOf(
  { issuerId, subject, audience, claims }: Pick<FederatedIdentity, 'issuerId' | 'subject' | 'audience' | 'claims'>,
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
