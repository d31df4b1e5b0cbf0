/**
 * The end of access tokens before they expire: of a single one (RFC 7009), and of all that a user has got so far.
 *
 * Keyturn's own API and introspection honour it. Verifiers that do not ask Keyturn never learn of it.
 */
import { DomainError } from '../errors.ts'
import { after, latest, MAX_DATE_AHEAD_SECONDS } from '../time.ts'
import type { ServiceUser } from './service-user.ts'

/**
 * How many revoked tokens of a user are kept at a time, and how many more of those that have expired. It bounds the rows, and how often a
 * client can change the instance.
 */
const MAX_REVOKED_TOKENS = 100

/** Tokens are dated in whole seconds, by the clocks of replicas and regions. One that is ahead by more issues tokens that stay valid. */
const CLOCK_TOLERANCE_SECONDS = 1

/** A revoked token, for as long as it would be valid, and for `MAX_DATE_AHEAD_SECONDS` after that. */
export interface RevokedToken {
  /** The `jti`. */
  readonly tokenId: string
  readonly expiresAt: Date
}

/** What a user's tokens are revoked by. */
export interface RevokedTokens {
  /** Tokens that were issued until then are revoked; null: none are. */
  readonly tokensRevokedAt: Date | null
  readonly revokedTokens: readonly RevokedToken[]
}

/** Whether a token of a user has been revoked. A token that is issued within 2 seconds after all were revoked may be too. */
export function isRevoked(
  { tokenId, issuedAt }: { readonly tokenId: string; readonly issuedAt: Date },
  {
    tokensRevokedAt,
    revokedTokens,
  }: Pick<RevokedTokens, 'tokensRevokedAt'> & {
    readonly revokedTokens: readonly Pick<RevokedToken, 'tokenId'>[]
  },
): boolean {
  // Not `<=`, so that a date that is none counts as revoked.
  if (tokensRevokedAt !== null && !(issuedAt > after(tokensRevokedAt, CLOCK_TOLERANCE_SECONDS))) return true
  return revokedTokens.some((revoked) => revoked.tokenId === tokenId)
}

/**
 * Revokes one token. Revoking a revoked one changes nothing.
 *
 * @throws {DomainError} `revoked_token_limit_reached`.
 */
export function revokeToken(user: ServiceUser, token: RevokedToken, clock: Date): ServiceUser {
  if (token.expiresAt <= clock || user.revokedTokens.some(({ tokenId }) => tokenId === token.tokenId)) return user
  const unexpired = user.revokedTokens.filter(({ expiresAt }) => clock < expiresAt)
  if (unexpired.length >= MAX_REVOKED_TOKENS) {
    throw new DomainError(
      'revoked_token_limit_reached',
      `${MAX_REVOKED_TOKENS} tokens of the user are revoked: wait until one expires`,
    )
  }
  return { ...user, revokedTokens: [...recentlyExpired(user.revokedTokens, clock), ...unexpired, token] }
}

/** Those that may be valid again if the clock is ahead and is corrected: the latest to expire, which were revoked just before it jumped. */
function recentlyExpired(tokens: readonly RevokedToken[], clock: Date): readonly RevokedToken[] {
  return tokens
    .filter(({ expiresAt }) => expiresAt <= clock && clock < after(expiresAt, MAX_DATE_AHEAD_SECONDS))
    .toSorted((a, b) => b.expiresAt.getTime() - a.expiresAt.getTime())
    .slice(0, MAX_REVOKED_TOKENS)
}

/**
 * Revokes all tokens that were issued until a time. It takes back no earlier revocation: if another clock was ahead when all were revoked,
 * by `MAX_DATE_AHEAD_SECONDS` at most, that time stays, a millisecond later, so that each call is a change.
 *
 * A single revocation stays until its token has expired by then. When the token was issued is not known, perhaps by a clock that is ahead.
 */
export function revokeAllTokens(user: ServiceUser, until: Date): ServiceUser {
  const before = user.tokensRevokedAt
  const counts = before !== null && before <= after(until, MAX_DATE_AHEAD_SECONDS)
  const tokensRevokedAt = counts ? latest(until, after(before, 0.001)) : until
  const revokedTokens = user.revokedTokens.filter(({ expiresAt }) => tokensRevokedAt < expiresAt)
  return { ...user, tokensRevokedAt, revokedTokens }
}
