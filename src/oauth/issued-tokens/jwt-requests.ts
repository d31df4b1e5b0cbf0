/**
 * Requests about JWTs at the endpoints for introspection and revocation.
 *
 * oidc-provider authenticates their clients and checks their forms. It knows only tokens that it stores, and refuses a JWT as
 * `unsupported_token_type`: such a request is answered here instead.
 */
import type { EventEmitter } from 'node:events'
import { type Client, errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider'
import type { Log, RequestContext } from '../../domain/ports/runtime.ts'
import { toUnavailable } from '../errors.ts'

/** A request of an authenticated client about a token that has the form of a JWT. */
export interface JwtRequest {
  readonly ctx: KoaContextWithOIDC
  readonly client: Client
  readonly token: string
}

/** Finds the requests that oidc-provider has left open. Any other is undefined, and has its response. */
export function findJwtRequests(
  provider: Provider,
  event: 'introspection.error' | 'revocation.error',
): (ctx: KoaContextWithOIDC) => JwtRequest | undefined {
  const open = new WeakSet<KoaContextWithOIDC>()
  const events: EventEmitter = provider
  events.on(event, (ctx: KoaContextWithOIDC, error: unknown) => {
    if (error instanceof errors.UnsupportedTokenType) open.add(ctx)
  })
  return (ctx) => {
    if (!open.has(ctx)) return undefined
    const { client, params } = ctx.oidc
    if (client === undefined || typeof params?.token !== 'string') throw new Error('the client is not authenticated')
    return { ctx, client, token: params.token }
  }
}

/** Answers a request that oidc-provider has left open; others stay as they are. */
export type AnswerJwtRequest = (ctx: KoaContextWithOIDC) => Promise<void>

/** Answers a request, also if that fails: after the error handler of oidc-provider. */
export async function answerOrRefuse(
  ctx: KoaContextWithOIDC,
  answer: AnswerJwtRequest,
  { contexts, log }: { readonly contexts: Pick<RequestContext, 'refused'>; readonly log: Log },
): Promise<void> {
  try {
    await answer(ctx)
  } catch (error) {
    const refusal = toUnavailable(error)
    const isExpected = refusal instanceof errors.OIDCProviderError
    if (!isExpected) log.error({ err: error }, 'a request about a token failed')
    const { statusCode, error: code, error_description } = isExpected ? refusal : SERVER_ERROR
    ctx.status = statusCode
    ctx.body = { error: code, error_description }
    // A failed authentication is recorded with its response.
    if (statusCode !== 401) contexts.refused(ctx.req, code)
  }
}

const SERVER_ERROR = { statusCode: 500, error: 'server_error', error_description: 'the server failed' }
