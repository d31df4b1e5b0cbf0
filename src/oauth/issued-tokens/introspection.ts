/**
 * Token introspection (RFC 7662): the answer to an authenticated client.
 */
import type { Client, Provider } from 'oidc-provider'
import type { Introspection } from '../../app/access/introspection.ts'
import type { IssuedAccessToken } from '../../domain/identities/authority.ts'
import { mayIntrospect } from '../../domain/identities/introspection.ts'
import type { Clients } from '../client-authentication/clients.ts'
import { type AnswerJwtRequest, findJwtRequests, type JwtRequest } from './jwt-requests.ts'

/** The response about every token that is not active, or not for the caller (RFC 7662 §2.2). */
const INACTIVE = { active: false }

/** What answering needs. */
export interface IntrospectionAnswerOptions {
  readonly introspection: Pick<Introspection, 'introspect'>
  readonly clients: () => Pick<Clients, 'userOf' | 'confirm'>
}

/** Connects the answers to a provider. The answer throws what `Clients.confirm` throws, and {DomainError} `storage_unavailable`. */
export function connectIntrospection(provider: Provider, options: IntrospectionAnswerOptions): AnswerJwtRequest {
  const requestOf = findJwtRequests(provider, 'introspection.error')
  return async (ctx) => {
    const request = requestOf(ctx)
    if (request === undefined) return
    const body = await describe(request, options)
    ctx.status = 200
    ctx.body = body
  }
}

async function describe({ token, client }: JwtRequest, options: IntrospectionAnswerOptions): Promise<object> {
  const { introspection, clients } = options
  const issued = await introspection.introspect(token)
  if (issued === undefined) return INACTIVE
  if (isAllowed(client, issued, clients())) return toResponse(issued)
  // Another replica may have changed the caller a moment ago.
  await clients().confirm(client)
  return isAllowed(client, issued, clients()) ? toResponse(issued) : INACTIVE
}

function isAllowed(client: Client, { audience }: IssuedAccessToken, { userOf }: Pick<Clients, 'userOf'>): boolean {
  const { user, projectName } = userOf(client)
  return user.projectName === projectName && mayIntrospect(user, audience)
}

/** All claims of the token, which has its own roles among them, and `cnf` (RFC 7662 §2.2, RFC 8705 §3.2, RFC 9449 §6.2). */
function toResponse({ claims, boundTo }: IssuedAccessToken): object {
  return { ...claims, active: true, token_type: boundTo?.kind === 'dpop' ? 'DPoP' : 'Bearer' }
}
