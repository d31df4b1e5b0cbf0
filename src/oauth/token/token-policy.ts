/**
 * Connects the domain's token policy to oidc-provider: it decides scopes and audience when the resource server is asked for, and sets
 * the claims before the token is signed.
 */
import type { Client, KoaContextWithOIDC, ResourceServer } from 'oidc-provider'
import type { TokenBinding } from '../../domain/identities/token-binding.ts'
import { type DeniedToken, decideTokenGrant, type GrantedToken } from '../../domain/identities/token-grant.ts'
import type { ActiveWebKey } from '../../domain/keys/web-key.ts'
import type { RequestContext } from '../../domain/ports.ts'
import type { Clients } from '../client-authentication/clients.ts'
import { toOAuthError } from '../errors.ts'
import { grantedClaims, lifetimeOf } from './access-token-signer.ts'
import { bindingMethodOf } from './sender-constraint.ts'

/** The claims of a token before it is signed. */
type TokenDraft = { payload: Record<string, unknown> }

/** What the policy needs. */
export interface TokenPolicyOptions {
  readonly issuer: string
  readonly tokenLifetimeSeconds: number
  /** The service's clock. oidc-provider uses that of this machine. */
  readonly now: () => Date
  /** Whether scopes of ZITADEL are understood. */
  readonly acceptsZitadelScopes: boolean
  /** The key that signs all tokens of the provider. */
  readonly signingKey: ActiveWebKey
  readonly userOf: Clients['userOf']
  readonly confirm: Clients['confirm']
  readonly contexts: Pick<RequestContext, 'certificateOf'>
}

export class TokenPolicy {
  readonly #options: TokenPolicyOptions
  readonly #grants = new WeakMap<KoaContextWithOIDC, GrantedToken>()
  /** Requests that name no `resource`. */
  readonly #withoutResource = new WeakSet<KoaContextWithOIDC>()

  constructor(options: TokenPolicyOptions) {
    this.#options = options
  }

  /** Stands for the resource of a request that names none. The grant decides the audiences of the token. */
  defaultResource = (ctx: KoaContextWithOIDC): string => {
    this.#withoutResource.add(ctx)
    return this.#options.issuer
  }

  /**
   * Decides the grant of an authenticated client. Called for each `resource` of the request; the first call decides about all of them
   * (RFC 8707 §2.2).
   *
   * @throws `unauthorized_client`, `invalid_scope`, or `invalid_target`; like `Clients.confirm` if it would be one of them.
   */
  resourceServerInfo = async (ctx: KoaContextWithOIDC, _resource: string, client: Client): Promise<ResourceServer> => {
    const { signingKey, tokenLifetimeSeconds } = this.#options
    const grant = this.#grants.get(ctx) ?? (await this.#grant(ctx, client))
    this.#grants.set(ctx, grant)
    // For this grant oidc-provider takes one resource server only. All resources of a request are audiences of one token.
    const { params, resourceServers = {} } = ctx.oidc
    for (const previous of Object.keys(resourceServers)) delete resourceServers[previous]
    const scope = grant.scopes.join(' ')
    // oidc-provider responds with the scope of the request. If that has none, the response must have the default (RFC 6749 §5.1).
    if (params !== undefined) params.scope = scope
    return {
      scope,
      accessTokenFormat: 'jwt',
      accessTokenTTL: lifetimeOf(grant, tokenLifetimeSeconds),
      jwt: { sign: { alg: signingKey.algorithm, kid: signingKey.keyId } },
    }
  }

  async #grant(ctx: KoaContextWithOIDC, client: Client): Promise<GrantedToken> {
    let grant = this.#decide(ctx, client)
    if (grant.kind === 'denied') {
      await this.#options.confirm(client)
      grant = this.#decide(ctx, client)
    }
    if (grant.kind === 'denied') throw toOAuthError(grant)
    return grant
  }

  #decide(ctx: KoaContextWithOIDC, client: Client): GrantedToken | DeniedToken {
    const { issuer, userOf, acceptsZitadelScopes } = this.#options
    const { user, projectName } = userOf(client)
    const { params } = ctx.oidc
    return decideTokenGrant(user, {
      projectName,
      scope: typeof params?.scope === 'string' ? params.scope : undefined,
      isBound: this.bindingMethodOf(ctx, client) !== null,
      serviceAudience: issuer,
      resources: this.#withoutResource.has(ctx)
        ? []
        : [params?.resource].flat().filter((item) => typeof item === 'string'),
      acceptsZitadelScopes,
    })
  }

  /** To what the token of an authenticated client is going to be bound. */
  bindingMethodOf = (ctx: KoaContextWithOIDC, client: Client): TokenBinding['kind'] | null => {
    const { userOf, contexts } = this.#options
    return bindingMethodOf(ctx.req, userOf(client).user, contexts)
  }

  /** Sets the granted claims. */
  customizeClaims = (ctx: KoaContextWithOIDC, draft: TokenDraft): void => {
    const grant = this.#grants.get(ctx)
    if (grant === undefined) throw new Error('the token was not granted')
    const { now, tokenLifetimeSeconds } = this.#options
    const lifetimeSeconds = lifetimeOf(grant, tokenLifetimeSeconds)
    Object.assign(draft.payload, grantedClaims(grant, { now: now(), lifetimeSeconds }))
  }
}
