/**
 * Credentials of service users, of all kinds. Secrets and tokens are stored as hashes only. Secrets can be deactivated, so that a rotation can be
 * tried before the old one is deleted (Spec §5).
 */
import { DomainError } from '../errors.ts'
import type { PublicJwk } from '../keys/key-algorithm.ts'
import { after, CLOCK_TOLERANCE_SECONDS } from '../time.ts'
import type { ServiceUser } from './service-user.ts'

/** How many credentials of each kind of a user may work at a time. */
const MAX_LIVE = 10

const MAX_SECRETS = 100

const DAY_SECONDS = 86_400

/** The prefix of personal access tokens, by which secret scanners and people recognise a leaked one. Access tokens are JWTs. */
export const PERSONAL_ACCESS_TOKEN_PREFIX = 'ktn_pat_'

interface Dated {
  readonly credentialId: string
  readonly createdAt: Date
  /** Null: it works until it is removed. */
  readonly expiresAt: Date | null
}

/** A client secret as it is stored: never the secret itself. */
export interface ClientSecret extends Dated {
  readonly kind: 'client_secret'
  /** Made of the secret and the integrity key of the instance. */
  readonly hash: Uint8Array
  readonly deactivatedAt: Date | null
  /** When it last got a token, or proved a client that asked about or revoked one; to the minute. */
  readonly lastUsedAt: Date | null
}

export interface UserKey extends Dated {
  readonly kind: 'user_key'
  /** With `kid` and `alg` if the user gave them. */
  readonly publicJwk: PublicJwk & { readonly kid?: string; readonly alg?: string }
}

export interface PersonalAccessToken extends Dated {
  readonly kind: 'personal_access_token'
  readonly hash: Uint8Array
  readonly expiresAt: Date
}

/** A client certificate, or any certificate with a name, with which a user may authenticate. */
export interface ClientCertificate extends Dated {
  readonly kind: 'client_certificate'
  /**
   * What of a certificate must be equal: its subject in the one spelling of `formatDistinguishedName`, one of its DNS names in lower case, one of
   * its URIs, or the certificate, by its SHA-256 thumbprint in base64url.
   */
  readonly match: 'subject_dn' | 'san_dns' | 'san_uri' | 'thumbprint'
  readonly value: string
}

/** What a JWT of a trusted issuer must say to stand for the user. */
export interface FederatedIdentity extends Dated {
  readonly kind: 'federated_identity'
  readonly issuerId: string
  readonly subject: string
  /** Null: the issuer of this service. */
  readonly audience: string | null
  readonly claims: readonly RequiredClaim[]
}

export interface RequiredClaim {
  /** A JSON pointer to a member of an object (RFC 6901). */
  readonly pointer: string
  readonly value: string
}

export type UserCredential = ClientSecret | UserKey | PersonalAccessToken | ClientCertificate | FederatedIdentity
export type CredentialKind = UserCredential['kind']
export type CredentialOf<Kind extends CredentialKind> = Extract<UserCredential, { readonly kind: Kind }>

/** A credential that is made: all but its id and its date. */
export type NewCredential = {
  [Kind in CredentialKind]: Omit<CredentialOf<Kind>, 'credentialId' | 'createdAt'>
}[CredentialKind]

/** For each kind: its part of the resource names of the audit trail, and what refusals call it. */
const KINDS: Readonly<Record<CredentialKind, { readonly part: string; readonly one: string; readonly many: string }>> =
  {
    client_secret: { part: 'secrets', one: 'client secret', many: 'client secrets' },
    user_key: { part: 'keys', one: 'key', many: 'keys' },
    personal_access_token: { part: 'tokens', one: 'personal access token', many: 'personal access tokens' },
    client_certificate: { part: 'certificates', one: 'client certificate', many: 'client certificates' },
    federated_identity: { part: 'federated_identities', one: 'federated identity', many: 'federated identities' },
  }

export const CREDENTIAL_KINDS = Object.keys(KINDS) as readonly CredentialKind[]

export function partOf(kind: CredentialKind): string {
  return KINDS[kind].part
}

/** Whether a text is meant as a personal access token, of whatever instance. */
export function isPersonalAccessToken(text: string): boolean {
  return text.startsWith(PERSONAL_ACCESS_TOKEN_PREFIX)
}

/** Whether a credential can still be used. A deactivated one cannot, whatever the clock of this replica says. */
export function isLive(
  credential: { readonly expiresAt: Date | null; readonly deactivatedAt?: Date | null },
  now: Date,
): boolean {
  const { expiresAt, deactivatedAt = null } = credential
  return deactivatedAt === null && (expiresAt === null || now < expiresAt)
}

/** The credentials of a kind, oldest first. */
export function credentialsOf<Kind extends CredentialKind>(
  { credentials }: Pick<ServiceUser, 'credentials'>,
  kind: Kind,
): readonly CredentialOf<Kind>[] {
  return credentials.filter((credential): credential is CredentialOf<Kind> => credential.kind === kind)
}

export function liveCredentials<Kind extends CredentialKind>(
  user: Pick<ServiceUser, 'credentials'>,
  kind: Kind,
  now: Date,
): readonly CredentialOf<Kind>[] {
  return credentialsOf(user, kind).filter((credential) => isLive(credential, now))
}

/** @throws {DomainError} `…_not_found` of the kind. */
export function findCredential<Kind extends CredentialKind>(
  user: ServiceUser,
  kind: Kind,
  credentialId: string,
): CredentialOf<Kind> {
  const credential = credentialsOf(user, kind).find((candidate) => candidate.credentialId === credentialId)
  if (credential === undefined) throw new DomainError(`${kind}_not_found`, `the user has no such ${KINDS[kind].one}`)
  return credential
}

/**
 * @param clock The time now, by which credentials expire; the date of creation may be ahead of it.
 * @throws {DomainError} `expiration_in_past`; `…_limit_reached` of the kind; `client_certificate_invalid` if the user has an equal certificate.
 */
export function addCredential(user: ServiceUser, credential: UserCredential, clock: Date): ServiceUser {
  if (!isLive(credential, clock)) {
    throw new DomainError('expiration_in_past', 'the expiration date must lie in the future')
  }
  const { kind } = credential
  // Expired tokens make room: nothing refers to them.
  const isKept = (other: UserCredential) =>
    other.kind !== kind || kind !== 'personal_access_token' || isLive(other, clock)
  const kept = user.credentials.filter(isKept)
  const others = kept.filter((other) => other.kind === kind)
  if (others.some((other) => isSameCertificate(other, credential))) {
    const reason = 'the user has it already; to change its expiration date, remove it first'
    throw new DomainError('client_certificate_invalid', `the client certificate cannot be used: ${reason}`)
  }
  const live = others.filter((other) => isLive(other, clock)).length
  const isSecret = kind === 'client_secret'
  const max = isSecret ? MAX_SECRETS : MAX_LIVE
  if (live >= MAX_LIVE || others.length >= max) {
    const limit = `a user has at most ${MAX_LIVE} ${KINDS[kind].many} that work, and ${max} in all`
    const help = isSecret ? 'deactivate or delete one first' : 'remove one first'
    throw new DomainError(`${kind}_limit_reached`, `${limit}: ${help}`)
  }
  return { ...user, credentials: [...kept, credential] }
}

/** @throws {DomainError} `…_not_found` of the kind. */
export function removeCredential(user: ServiceUser, kind: CredentialKind, credentialId: string): ServiceUser {
  const gone = findCredential(user, kind, credentialId)
  return { ...user, credentials: user.credentials.filter((credential) => credential !== gone) }
}

/** Deactivating a deactivated secret changes nothing. @throws {DomainError} `client_secret_not_found`. */
export function deactivateSecret(user: ServiceUser, secretId: string, at: Date): ServiceUser {
  const secret = findCredential(user, 'client_secret', secretId)
  if (secret.deactivatedAt !== null) return user
  const deactivated = { ...secret, deactivatedAt: at }
  return { ...user, credentials: user.credentials.map((other) => (other === secret ? deactivated : other)) }
}

/** Existing tokens keep their expiry, whatever the limit was. @throws {DomainError} `expiration_too_late`. */
export function assertTokenLifetime(
  expiresAt: Date,
  { clock, maxLifetimeDays }: { readonly clock: Date; readonly maxLifetimeDays: number },
): void {
  if (expiresAt <= after(clock, maxLifetimeDays * DAY_SECONDS + CLOCK_TOLERANCE_SECONDS)) return
  const days = maxLifetimeDays === 1 ? '1 day' : `${maxLifetimeDays} days`
  throw new DomainError(
    'expiration_too_late',
    `a personal access token must expire at most ${days} after it is created`,
    { metadata: { max_lifetime_days: String(maxLifetimeDays) } },
  )
}

function isSameCertificate(a: UserCredential, b: UserCredential): boolean {
  return (
    a.kind === 'client_certificate' && b.kind === 'client_certificate' && a.match === b.match && a.value === b.value
  )
}
