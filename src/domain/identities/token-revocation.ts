/**
 * The end of access tokens before they expire: of a single one (RFC 7009), and of all that a user has got so far.
 *
 * Keyturn's own API and introspection honour it. Verifiers that do not ask Keyturn never learn of it.
 */
import { DomainError } from '../errors.ts'
import { after, latest, MAX_CLOCK_OFFSET_SECONDS } from '../time.ts'
import type { ServiceUser } from './service-user.ts'

/** How many revoked tokens of a user are kept at a time. It bounds the rows, and how often a client can change the instance. */
const MAX_REVOKED_TOKENS = 100

/** A revoked token, for as long as it would be valid by the clock of any replica. */
export interface RevokedToken {
  /** The `jti`. */
  readonly tokenId: string
  readonly expiresAt: Date
}

export interface RevokedTokens {
  /** Of all tokens so far, the last time, in whole milliseconds; null: never. */
  readonly tokensRevokedAt: Date | null
  readonly revokedTokens: readonly RevokedToken[]
}

/**
 * The `jti` of a new token: the revocation of all tokens of its user that it comes after, and a random text. So clocks need not agree on what
 * was issued before a revocation, and what a replica issues that has not heard of the revocation is revoked too.
 */
export function tokenIdOf({ tokensRevokedAt }: Pick<RevokedTokens, 'tokensRevokedAt'>, random: string): string {
  return `${(tokensRevokedAt?.getTime() ?? 0).toString(36)}.${random}`
}

export function isRevoked(
  tokenId: string,
  {
    tokensRevokedAt,
    revokedTokens,
  }: Pick<RevokedTokens, 'tokensRevokedAt'> & {
    readonly revokedTokens: readonly Pick<RevokedToken, 'tokenId'>[]
  },
): boolean {
  // Not `<`, so that an id which was not made here counts as revoked.
  if (!(Number.parseInt(tokenId, 36) >= (tokensRevokedAt?.getTime() ?? 0))) return true
  return revokedTokens.some((revoked) => revoked.tokenId === tokenId)
}

/** Revoking a revoked token changes nothing. @throws {DomainError} `revoked_token_limit_reached`. */
export function revokeToken(user: ServiceUser, token: RevokedToken, clock: Date): ServiceUser {
  // A replica whose clock is behind accepts the token for longer.
  const isOver = ({ expiresAt }: RevokedToken) => after(expiresAt, MAX_CLOCK_OFFSET_SECONDS) <= clock
  if (isOver(token) || user.revokedTokens.some(({ tokenId }) => tokenId === token.tokenId)) return user
  const kept = user.revokedTokens.filter((revoked) => !isOver(revoked))
  if (kept.length >= MAX_REVOKED_TOKENS) {
    throw new DomainError(
      'revoked_token_limit_reached',
      `${MAX_REVOKED_TOKENS} tokens of the user are revoked: wait until one expires`,
    )
  }
  return { ...user, revokedTokens: [...kept, token] }
}

/** Revokes all tokens that were issued so far. Each call is a change, and later than the call before, also if the clock went back. */
export function revokeAllTokens(user: ServiceUser, clock: Date): ServiceUser {
  const before = user.tokensRevokedAt
  const tokensRevokedAt = before === null ? clock : latest(clock, after(before, 0.001))
  return { ...user, tokensRevokedAt, revokedTokens: [] }
}
