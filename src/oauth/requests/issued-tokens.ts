/**
 * Introspection (RFC 7662) and revocation (RFC 7009) of access tokens by authenticated clients. oidc-provider knows only tokens that it
 * stores, and refuses a JWT.
 *
 * Whether a client may ask about a token is decided by what the token says of itself, before anything is verified: a token of others takes
 * the same steps as a forged one, and gets the same answer.
 */
import type { IncomingMessage } from 'node:http'
import { errors } from 'oidc-provider'
import type { Introspection } from '../../app/access/introspection.ts'
import type { TokenRevocations } from '../../app/identities/token-revocations.ts'
import { isPersonalAccessToken } from '../../domain/identities/credential.ts'
import { mayIntrospect } from '../../domain/identities/reach.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import { originOf } from '../../http/requests/exchange.ts'
import type { ClaimedUser } from '../client-authentication/claimed-user.ts'
import { type Answer, answerWith } from './answers.ts'
import { unverifiedClaims } from './form.ts'

export interface IssuedTokenOptions {
  readonly introspection: Pick<Introspection, 'introspect'>
  readonly revocations: Pick<TokenRevocations, 'revoke'>
  readonly now: () => Date
  readonly contexts: Pick<RequestContext, 'addressOf'>
}

/** The answer about every token that is not active, or not for the caller (RFC 7662 §2.2). */
const INACTIVE = answerWith({ active: false })

/** @throws like `ClaimedUser.confirmProved`; {DomainError} `storage_unavailable`. */
export async function introspect(
  token: string,
  claimed: ClaimedUser,
  { introspection, now }: IssuedTokenOptions,
): Promise<Answer> {
  const audience = [unverifiedClaims(token)?.aud].flat().filter((item) => typeof item === 'string')
  const mayAsk = () => claimed.proved.projectName === claimed.projectName && mayIntrospect(claimed.proved, audience)
  // Another replica may have changed the caller a moment ago.
  if (!mayAsk()) await claimed.confirmProved(now)
  if (!mayAsk()) return INACTIVE
  const issued = await introspection.introspect(token)
  if (issued === undefined) return INACTIVE
  // All claims, with the roles and `cnf` (RFC 7662 §2.2, RFC 8705 §3.2, RFC 9449 §6.2).
  const { claims, boundTo } = issued
  return answerWith({ ...claims, active: true, token_type: boundTo?.kind === 'dpop' ? 'DPoP' : 'Bearer' })
}

/** Also the answer about a token that is not valid: it is what the client wants (RFC 7009 §2.2). Clients read JSON. */
const REVOKED = answerWith({})

/** @throws `unsupported_token_type` for a personal access token; {DomainError} of `TokenRevocations.revoke`. */
export async function revoke(
  req: IncomingMessage,
  token: string,
  claimed: ClaimedUser,
  { introspection, revocations, contexts }: IssuedTokenOptions,
): Promise<Answer> {
  if (isPersonalAccessToken(token)) {
    throw new errors.UnsupportedTokenType(
      'a personal access token is not revoked here: call RevokePersonalAccessToken of iam.user.v2.ServiceUserService',
    )
  }
  if (unverifiedClaims(token)?.sub !== claimed.proved.userId) return REVOKED
  const issued = await introspection.introspect(token)
  if (issued === undefined) return REVOKED
  await revocations.revoke(issued, {
    ...originOf(req, contexts),
    isProved: (user, now) => claimed.isProvedFor(user, now),
  })
  return REVOKED
}
