/**
 * Lets the domain's token policy decide inside the engine: scopes and audience when the engine asks what the token is
 * for, claims when it is about to sign.
 */
import { type Client, errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider'
import { type DeniedToken, decideTokenGrant, type GrantedToken } from '../../domain/identities/token-grant.ts'
import type { ActiveWebKey } from '../../domain/keys/web-key.ts'
import type { Clients } from '../client-authentication/clients.ts'
import { toOAuthError } from '../errors.ts'
import { grantedClaims } from './token-claims.ts'

/** The claims of a token before it is signed, as the engine hands them out. */
type TokenDraft = { payload: Record<string, unknown> }

/** What the policy needs to know about the service. */
export interface TokenPolicyOptions {
  readonly issuer: string
  readonly tokenLifetimeSeconds: number
  /** The time that dates tokens. The engine only knows that of this machine. */
  readonly now: () => Date
  /** The key that signs all tokens of this engine. */
  readonly signingKey: ActiveWebKey
  readonly userOf: Clients['userOf']
  readonly confirm: Clients['confirm']
}

export class TokenPolicy {
  readonly #options: TokenPolicyOptions
  readonly #grants = new WeakMap<KoaContextWithOIDC, GrantedToken>()
  /** Requests that name no `resource`. */
  readonly #withoutResource = new WeakSet<KoaContextWithOIDC>()

  constructor(options: TokenPolicyOptions) {
    this.#options = options
  }

  /**
   * The one resource that the engine knows, for a request that names none. Which audiences the token has is the grant's
   * matter.
   */
  defaultResource = (ctx: KoaContextWithOIDC): string => {
    this.#withoutResource.add(ctx)
    return this.#options.issuer
  }

  /**
   * Decides about the request of an authenticated client.
   *
   * The engine calls this for each `resource` of the request, so all of them must name this service (RFC 8707 §2).
   *
   * @throws `unauthorized_client`, `invalid_scope`, or `invalid_target` for a `resource` other than this service; like
   * `Clients.confirm` if it would be one of the first two.
   */
  resourceServerInfo = async (ctx: KoaContextWithOIDC, resource: string, client: Client): Promise<ResourceServer> => {
    const { issuer, signingKey, confirm } = this.#options
    if (resource !== issuer) throw new errors.InvalidTarget()

    const { params } = ctx.oidc
    let grant = this.#decide(ctx, client)
    if (grant.kind === 'denied') {
      await confirm(client)
      grant = this.#decide(ctx, client)
    }
    if (grant.kind === 'denied') throw toOAuthError(grant)
    this.#grants.set(ctx, grant)
    const scope = grant.scopes.join(' ')
    // The engine answers with the scope of the request; a client that named none must be told (RFC 6749 §5.1).
    if (params !== undefined) params.scope = scope
    return {
      scope,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: signingKey.algorithm, kid: signingKey.keyId } },
    }
  }

  #decide(ctx: KoaContextWithOIDC, client: Client): GrantedToken | DeniedToken {
    const { issuer, userOf } = this.#options
    const { user, projectName } = userOf(client)
    const { params } = ctx.oidc
    return decideTokenGrant(user, {
      projectName,
      scope: typeof params?.scope === 'string' ? params.scope : undefined,
      serviceAudience: issuer,
      namesService: !this.#withoutResource.has(ctx),
    })
  }

  /** Puts what was granted into the token. */
  customizeClaims = (ctx: KoaContextWithOIDC, draft: TokenDraft): void => {
    const grant = this.#grants.get(ctx)
    if (grant === undefined) throw new Error('a token is being signed that nobody has granted')
    const { now, tokenLifetimeSeconds: lifetimeSeconds } = this.#options
    Object.assign(draft.payload, grantedClaims(grant, { now: now(), lifetimeSeconds }))
  }
}
