/**
 * The end of access tokens before they expire: of a single one (RFC 7009), and of all that a user has got so far.
 *
 * Keyturn's own API and introspection honour it. Verifiers that do not ask Keyturn never learn of it.
 */
import { DomainError } from '../errors.ts'
import { after } from '../time.ts'
import type { ServiceUser } from './service-user.ts'

/** How many revoked tokens of a user are kept at a time. It bounds the rows, and how often a client can change the instance. */
const MAX_REVOKED_TOKENS = 100

/** Tokens are dated in whole seconds, by the clocks of replicas, which may differ a little from that of the database. */
const CLOCK_TOLERANCE_SECONDS = 1

/** A revoked token, for as long as it would be valid. */
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
 * Revokes one token. Revoking a revoked one changes nothing. Revocations of tokens that have expired are dropped.
 *
 * @throws {DomainError} `revoked_token_limit_reached`.
 */
export function revokeToken(user: ServiceUser, token: RevokedToken, clock: Date): ServiceUser {
  if (token.expiresAt <= clock || user.revokedTokens.some(({ tokenId }) => tokenId === token.tokenId)) return user
  const revokedTokens = user.revokedTokens.filter(({ expiresAt }) => clock < expiresAt)
  if (revokedTokens.length >= MAX_REVOKED_TOKENS) {
    throw new DomainError(
      'revoked_token_limit_reached',
      `${MAX_REVOKED_TOKENS} tokens of the user are revoked: wait until one expires, or revoke all of them`,
    )
  }
  return { ...user, revokedTokens: [...revokedTokens, token] }
}

/** Revokes all tokens that were issued until now. */
export function revokeAllTokens(user: ServiceUser, clock: Date): ServiceUser {
  return { ...user, tokensRevokedAt: clock, revokedTokens: [] }
}
