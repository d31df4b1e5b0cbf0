/**
 * The right to make a call or a change. It rests on the user, the permission and the credential, each of which can be revoked during a call: so it is checked
 * after the headers of a request, after its body, and under the lock of the change.
 */
import type { AuditEntry } from '../audit.ts'
import { DomainError } from '../errors.ts'
import type { WebKey } from '../keys/web-key.ts'
import { after } from '../time.ts'
import { isLive, type UserCredential } from './credential.ts'
import type { Permission } from './permission.ts'
import { isEmptyReach, permissionMissing, type Reach, type RoleHolder, reachOf } from './reach.ts'
import type { ServiceUser } from './service-user.ts'
import type { TokenBinding } from './token-binding.ts'
import { isRevoked, type RevokedToken } from './token-revocation.ts'

interface AccessTokenCredential {
  readonly kind: 'access_token'
  readonly keyId: string
  /** The `jti`. */
  readonly tokenId: string
  readonly expiresAt: Date
}

interface PersonalAccessTokenCredential {
  readonly kind: 'personal_access_token'
  readonly tokenId: string
  readonly expiresAt: Date
}

/**
 * What a session of the console came from: what the caller of a sign-in link had proved itself with, or a sign-in with the OpenID provider. The
 * session ends with it, and no later than it.
 */
export type SessionOrigin = AccessTokenCredential | PersonalAccessTokenCredential | { readonly kind: 'openid_provider' }

export const SESSION_IDLE_SECONDS = 30 * 60

/** What of a session of the console its end depends on. */
export interface SessionDates {
  readonly expiresAt: Date
  /** To the minute. */
  readonly lastUsedAt: Date
}

export function isOpen({ expiresAt, lastUsedAt }: SessionDates, now: Date): boolean {
  return now < expiresAt && now < after(lastUsedAt, SESSION_IDLE_SECONDS)
}

interface ConsoleSessionCredential {
  readonly kind: 'console_session'
  readonly sessionId: string
  readonly origin: SessionOrigin
}

/** What a caller has proved itself with. */
export type Credential = AccessTokenCredential | PersonalAccessTokenCredential | ConsoleSessionCredential

export interface VerifiedAccessToken {
  readonly subject: string
  readonly credential: AccessTokenCredential
  /** What the caller must have besides the token; null: nothing. */
  readonly boundTo: TokenBinding | null
}

export interface IssuedAccessToken extends VerifiedAccessToken {
  readonly audience: readonly string[]
  readonly claims: Readonly<Record<string, unknown>>
}

export interface UserAuthority {
  readonly kind: 'user'
  readonly userId: string
  readonly permission: Permission
  /** What the permission was over when the right was checked last: what the caller may see. A change looks it up again. */
  readonly reach: Reach
  readonly credential: Credential
}

/**
 * The right of a service user over its own tokens and sessions, by a credential that it has proved as a client of an OAuth endpoint or at
 * the console. The change decides whether that credential is still live: it is among what is changed.
 */
export interface ClientAuthority {
  readonly kind: 'client'
  readonly userId: string
}

/** The right by which something is changed: that of a user, of a client, or of the system, for changes without a caller. */
export type Authority = UserAuthority | ClientAuthority | { readonly kind: 'system' }

/** Who is calling, in which request, and by what right. */
export interface Actor extends Omit<AuditEntry, 'resource'> {
  readonly authority: UserAuthority
}

/** A requested change: its audit entry, and the right by which it is made. */
export interface ChangeEntry extends AuditEntry {
  readonly authority: Authority
}

/** The entry of changes without a caller: rotation, the first start, and commands that work on the database itself. */
export const SYSTEM: Omit<ChangeEntry, 'action' | 'resource'> = {
  actor: 'system',
  requestId: '',
  authority: { kind: 'system' },
}

/** What a right depends on of a user. */
export interface CallingUser extends RoleHolder, Pick<ServiceUser, 'enabled' | 'tokensRevokedAt'> {
  /** At least the access token that the right depends on, if it was revoked. */
  readonly revokedTokens: readonly Pick<RevokedToken, 'tokenId'>[]
  /** At least the personal access token that the right depends on. */
  readonly credentials: readonly Pick<UserCredential, 'kind' | 'credentialId' | 'expiresAt'>[]
}

export interface AuthorityFacts<User extends CallingUser = CallingUser> {
  readonly user: User | undefined
  /** The web keys that are published; at least the one that signed the access token, if it is. */
  readonly ring: readonly Pick<WebKey, 'keyId'>[]
  /** The session that the right depends on. Undefined if it depends on none, or there is no such session of the user. */
  readonly session?: SessionDates | undefined
  readonly now: Date
}

/**
 * The user and what the permission is over, if the right still holds.
 *
 * @throws {DomainError} `token_invalid`; `console_session_invalid`; `permission_missing`.
 */
export function assertAuthorized(
  { credential, permission }: UserAuthority,
  facts: AuthorityFacts,
): { readonly user: CallingUser; readonly reach: Reach } {
  const user = authenticated(credential, facts)
  return { user, reach: assertPermitted(user, permission) }
}

/**
 * The user, whom the credential must have been proved to belong to, if it is enabled and the credential live.
 *
 * @throws {DomainError} `token_invalid`; `console_session_invalid`.
 */
export function authenticated<User extends CallingUser>(
  credential: Credential | SessionOrigin,
  facts: AuthorityFacts<User>,
): User {
  switch (credential.kind) {
    case 'access_token':
      return userOfAccessToken(credential, facts)
    case 'personal_access_token':
      return userOfPersonalAccessToken(credential, facts)
    case 'console_session':
      return userOfSession(credential, facts)
    case 'openid_provider':
      if (facts.user?.enabled !== true) throw invalidSession()
      return facts.user
  }
}

/** What the permission of the user is over. @throws {DomainError} `permission_missing` if it is over nothing. */
export function assertPermitted(user: RoleHolder, permission: Permission): Reach {
  const reach = reachOf(user, permission)
  if (isEmptyReach(reach)) throw permissionMissing(permission)
  return reach
}

/** The same refusal for a personal access token that never existed, was revoked, or has expired, and for a disabled user. */
export function invalidPersonalAccessToken(): DomainError {
  return new DomainError(
    'token_invalid',
    'the personal access token is not valid: it does not exist any more, has expired, or its user is disabled',
  )
}

/** The same refusal for a cookie that is missing or forged, for a session that has ended or was revoked, and for a disabled user. */
export function invalidSession(): DomainError {
  return new DomainError(
    'console_session_invalid',
    'there is no open session of the console: sign in with "keyturn console"',
  )
}

function userOfSession<User extends CallingUser>(
  { origin }: ConsoleSessionCredential,
  facts: AuthorityFacts<User>,
): User {
  const { session, now } = facts
  if (session === undefined || !isOpen(session, now)) throw invalidSession()
  try {
    return authenticated(origin, facts)
  } catch {
    // In one word for the page, whatever has ended.
    throw invalidSession()
  }
}

function userOfAccessToken<User extends CallingUser>(
  credential: AccessTokenCredential,
  { user, ring, now }: AuthorityFacts<User>,
): User {
  if (!isLive(credential, now)) {
    throw new DomainError('token_invalid', 'the access token has expired: get a new one')
  }
  if (!ring.some(({ keyId }) => keyId === credential.keyId)) {
    throw new DomainError('token_invalid', 'the web key of the access token has been revoked or deleted')
  }
  if (user === undefined || !user.enabled) {
    throw new DomainError('token_invalid', 'the service user of the access token is disabled or has been deleted')
  }
  if (isRevoked(credential.tokenId, user)) {
    throw new DomainError('token_invalid', 'the access token has been revoked: get a new one')
  }
  return user
}

function userOfPersonalAccessToken<User extends CallingUser>(
  credential: PersonalAccessTokenCredential,
  { user, now }: AuthorityFacts<User>,
): User {
  const token = user?.credentials.find(
    ({ kind, credentialId }) => kind === credential.kind && credentialId === credential.tokenId,
  )
  if (user === undefined || !user.enabled || token === undefined || !isLive(token, now)) {
    throw invalidPersonalAccessToken()
  }
  return user
}
