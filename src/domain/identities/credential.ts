/**
 * Credentials of service users: client secrets, public keys (RFC 7523), personal access tokens.
 *
 * Each may have an expiry. Secrets can be deactivated, so that a rotation can be tried before the old one is deleted (Spec §5).
 * Secrets and tokens are stored as hashes only.
 */
import { DomainError } from '../errors.ts'
import type { PublicJwk } from '../keys/key-algorithm.ts'
import type { ServiceUser } from './service-user.ts'

/** How many secrets of a user may work at a time, and how many keys and personal access tokens it may have. */
const MAX_LIVE = 10

const DAY = 86_400_000

/** The tolerance for the clock of the caller who sets the expiry of a personal access token, in milliseconds. */
const CLOCK_TOLERANCE = 60_000

/** How many secrets of a user are kept, working or not. */
const MAX_SECRETS = 100

/** The prefix of personal access tokens, by which secret scanners and people recognise a leaked one. Access tokens are JWTs. */
export const PERSONAL_ACCESS_TOKEN_PREFIX = 'ktn_pat_'

/** A client secret as it is stored: never the secret itself. */
export interface ClientSecret {
  readonly secretId: string
  /** Made of the secret and the integrity key of the instance. */
  readonly hash: Uint8Array
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly deactivatedAt: Date | null
  /** When it last got a token, or proved a client that asked about or revoked one; to the minute. */
  readonly lastUsedAt: Date | null
}

export interface UserKey {
  readonly keyId: string
  /** With `kid` and `alg` if the user gave them. */
  readonly publicJwk: PublicJwk & { readonly kid?: string; readonly alg?: string }
  readonly createdAt: Date
  readonly expiresAt: Date | null
}

/** A personal access token as it is stored: never the token itself. */
export interface PersonalAccessToken {
  readonly tokenId: string
  /** Made of the token and the integrity key of the instance. */
  readonly hash: Uint8Array
  readonly createdAt: Date
  readonly expiresAt: Date
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

/**
 * @param clock The time now, by which secrets expire; the date of creation may be ahead of it.
 * @throws {DomainError} `client_secret_limit_reached`; `expiration_in_past`.
 */
export function addSecret(user: ServiceUser, secret: ClientSecret, clock: Date): ServiceUser {
  assertFuture(secret.expiresAt, clock)
  const live = user.secrets.filter((other) => isLive(other, clock)).length
  if (live >= MAX_LIVE || user.secrets.length >= MAX_SECRETS) {
    throw new DomainError(
      'client_secret_limit_reached',
      `at most ${MAX_LIVE} secrets of a user work at a time and ${MAX_SECRETS} are kept: deactivate or delete one first`,
    )
  }
  return { ...user, secrets: [...user.secrets, secret] }
}

/** Deactivating a deactivated secret changes nothing. @throws {DomainError} `client_secret_not_found`. */
export function deactivateSecret(user: ServiceUser, secretId: string, at: Date): ServiceUser {
  const secret = findSecret(user, secretId)
  if (secret.deactivatedAt !== null) return user
  const deactivated = { ...secret, deactivatedAt: at }
  return { ...user, secrets: user.secrets.map((other) => (other === secret ? deactivated : other)) }
}

/** @throws {DomainError} `client_secret_not_found`. */
export function deleteSecret(user: ServiceUser, secretId: string): ServiceUser {
  const secret = findSecret(user, secretId)
  return { ...user, secrets: user.secrets.filter((other) => other !== secret) }
}

/** The secret with this id. @throws {DomainError} `client_secret_not_found`. */
export function findSecret(user: ServiceUser, secretId: string): ClientSecret {
  const secret = user.secrets.find((candidate) => candidate.secretId === secretId)
  if (secret === undefined) throw new DomainError('client_secret_not_found', 'the user has no such client secret')
  return secret
}

/** @param clock As for `addSecret`. @throws {DomainError} `user_key_limit_reached`; `expiration_in_past`. */
export function addKeys(user: ServiceUser, keys: readonly UserKey[], clock: Date): ServiceUser {
  for (const key of keys) assertFuture(key.expiresAt, clock)
  if (user.keys.length + keys.length > MAX_LIVE) {
    throw new DomainError('user_key_limit_reached', `a user has at most ${MAX_LIVE} keys: remove one first`)
  }
  return { ...user, keys: [...user.keys, ...keys] }
}

/** @throws {DomainError} `user_key_not_found`. */
export function removeKey(user: ServiceUser, keyId: string): ServiceUser {
  const keys = user.keys.filter((key) => key.keyId !== keyId)
  if (keys.length === user.keys.length) throw new DomainError('user_key_not_found', 'the user has no such key')
  return { ...user, keys }
}

/**
 * Existing tokens keep their expiry, whatever the limit was when they were made.
 *
 * @param options.clock As for `addSecret`. The lifetime counts from it.
 * @throws {DomainError} `personal_access_token_limit_reached`; `expiration_in_past`; `expiration_too_late`.
 */
export function addPersonalAccessToken(
  user: ServiceUser,
  token: PersonalAccessToken,
  { clock, maxLifetimeDays }: { readonly clock: Date; readonly maxLifetimeDays: number },
): ServiceUser {
  assertFuture(token.expiresAt, clock)
  if (token.expiresAt.getTime() - clock.getTime() > maxLifetimeDays * DAY + CLOCK_TOLERANCE) {
    const days = maxLifetimeDays === 1 ? '1 day' : `${maxLifetimeDays} days`
    throw new DomainError(
      'expiration_too_late',
      `a personal access token must expire at most ${days} after it is created`,
      { metadata: { max_lifetime_days: String(maxLifetimeDays) } },
    )
  }
  const personalAccessTokens = user.personalAccessTokens.filter((other) => isLive(other, clock))
  if (personalAccessTokens.length >= MAX_LIVE) {
    throw new DomainError(
      'personal_access_token_limit_reached',
      `a user has at most ${MAX_LIVE} personal access tokens: revoke one first`,
    )
  }
  // Expired ones make room: nothing refers to them.
  return { ...user, personalAccessTokens: [...personalAccessTokens, token] }
}

/** @throws {DomainError} `personal_access_token_not_found`. */
export function revokePersonalAccessToken(user: ServiceUser, tokenId: string): ServiceUser {
  const personalAccessTokens = user.personalAccessTokens.filter((token) => token.tokenId !== tokenId)
  if (personalAccessTokens.length === user.personalAccessTokens.length) {
    throw new DomainError('personal_access_token_not_found', 'the user has no such personal access token')
  }
  return { ...user, personalAccessTokens }
}

function assertFuture(expiresAt: Date | null, clock: Date): void {
  if (expiresAt !== null && expiresAt <= clock) {
    throw new DomainError('expiration_in_past', 'the expiration date must lie in the future')
  }
}
