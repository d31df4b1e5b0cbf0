/**
 * Token revocation (RFC 7009): the answer to an authenticated client, who may revoke the tokens that were issued to it.
 */
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider'
import type { Introspection } from '../../app/access/introspection.ts'
import type { TokenRevocations } from '../../app/identities/token-revocations.ts'
import { DomainError } from '../../domain/errors.ts'
import { isPersonalAccessToken } from '../../domain/identities/credential.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { Clients } from '../client-authentication/clients.ts'
import { temporarilyUnavailable } from '../errors.ts'
import { type AnswerJwtRequest, findJwtRequests, type JwtRequest } from './jwt-requests.ts'

/** What answering needs. */
export interface RevocationAnswerOptions {
  readonly introspection: Pick<Introspection, 'introspect'>
  readonly revocations: Pick<TokenRevocations, 'revoke'>
  readonly clients: () => Pick<Clients, 'userOf' | 'isProved'>
  readonly contexts: Pick<RequestContext, 'addressOf'>
}

/**
 * Connects the answers to a provider. The answer throws `unsupported_token_type` for a personal access token, `unauthorized_client` for
 * a token of another client, and the refusals of `TokenRevocations.revoke`.
 */
export function connectRevocation(provider: Provider, options: RevocationAnswerOptions): AnswerJwtRequest {
  const requestOf = findJwtRequests(provider, 'revocation.error')
  return async (ctx) => {
    const request = requestOf(ctx)
    if (request !== undefined) await revoke(request, options)
    else if (ctx.status === 200) assertNoPersonalAccessToken(ctx)
    else return
    // Also for a token that is not valid: it is what the client wants (RFC 7009 §2.2). Clients read JSON, though there is nothing to say.
    ctx.status = 200
    ctx.body = {}
  }
}

/** oidc-provider answers 200 about every text that is no JWT, but a personal access token goes on working (RFC 7009 §2.2.1). */
function assertNoPersonalAccessToken({ oidc: { params } }: KoaContextWithOIDC): void {
  if (typeof params?.token !== 'string' || !isPersonalAccessToken(params.token)) return
  throw new errors.UnsupportedTokenType(
    'a personal access token is not revoked here: call RevokePersonalAccessToken of iam.user.v2.ServiceUserService',
  )
}

async function revoke({ ctx, client, token }: JwtRequest, options: RevocationAnswerOptions): Promise<void> {
  const { introspection, revocations, clients, contexts } = options
  const issued = await introspection.introspect(token)
  if (issued === undefined) return
  if (issued.subject !== clients().userOf(client).user.userId) {
    throw new errors.UnauthorizedClient('the token was issued to another client')
  }
  try {
    await revocations.revoke(issued, {
      requestId: String(ctx.req.headers['x-request-id'] ?? ''),
      clientAddress: contexts.addressOf(ctx.req),
      isProved: (user, now) => clients().isProved(client, user, now),
    })
  } catch (error) {
    throw toOAuthRefusal(error)
  }
}

/** The request may be repeated: each of them goes away, except that a standby leaves revocations to its primary (RFC 7009 §2.2.1). */
const TEMPORARY: readonly string[] = [
  'revoked_token_limit_reached',
  'primary_region',
  'change_outcome_unknown',
  'change_not_in_force',
]

function toOAuthRefusal(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error
  if (error.code === 'token_invalid') return new errors.InvalidClientAuth(error.message)
  if (!TEMPORARY.includes(error.code)) return error
  return temporarilyUnavailable(error.message, error)
}
