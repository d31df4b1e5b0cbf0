/**
 * Connects the domain's token policy to oidc-provider: it decides scopes and audience when the resource server is asked for, and sets
 * the claims before the token is signed.
 */
import type { Client, KoaContextWithOIDC, ResourceServer } from 'oidc-provider'
import type { TokenBinding } from '../../domain/identities/token-binding.ts'
import { type DeniedToken, decideTokenGrant, type GrantedToken } from '../../domain/identities/token-grant.ts'
import { tokenIdOf } from '../../domain/identities/token-revocation.ts'
import type { ActiveWebKey } from '../../domain/keys/web-key.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { Clients } from '../client-authentication/clients.ts'
import { toOAuthError } from '../errors.ts'
import { grantedClaims, lifetimeOf } from './access-token-signer.ts'
import { bindingMethodOf } from './sender-constraint.ts'

/** The claims of a token before it is signed. */
type TokenDraft = { payload: Record<string, unknown> }

/** What a token says, and to what it is bound. Both depend on the user as it was then. */
interface Decision<Grant = GrantedToken> {
  readonly grant: Grant
  readonly binding: TokenBinding['kind'] | null
}

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
  readonly #decisions = new WeakMap<KoaContextWithOIDC, Decision>()
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
    const decision = this.#decisions.get(ctx) ?? (await this.#grant(ctx, client))
    this.#decisions.set(ctx, decision)
    const { grant } = decision
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

  async #grant(ctx: KoaContextWithOIDC, client: Client): Promise<Decision> {
    let decision = this.#decide(ctx, client)
    if (decision.grant.kind === 'denied') {
      await this.#options.confirm(client)
      decision = this.#decide(ctx, client)
    }
    const { grant, binding } = decision
    if (grant.kind === 'denied') throw toOAuthError(grant)
    return { grant, binding }
  }

  #decide(ctx: KoaContextWithOIDC, client: Client): Decision<GrantedToken | DeniedToken> {
    const { issuer, userOf, acceptsZitadelScopes, contexts } = this.#options
    const { user, projectName } = userOf(client)
    const { params } = ctx.oidc
    const binding = bindingMethodOf(ctx.req, user, contexts)
    const grant = decideTokenGrant(user, {
      projectName,
      scope: typeof params?.scope === 'string' ? params.scope : undefined,
      isBound: binding !== null,
      serviceAudience: issuer,
      resources: this.#withoutResource.has(ctx)
        ? []
        : [params?.resource].flat().filter((item) => typeof item === 'string'),
      acceptsZitadelScopes,
    })
    return { grant, binding }
  }

  /** Sets the granted claims. */
  customizeClaims = (ctx: KoaContextWithOIDC, draft: TokenDraft): void => {
    const { grant } = this.#granted(ctx)
    const { now, tokenLifetimeSeconds } = this.#options
    const lifetimeSeconds = lifetimeOf(grant, tokenLifetimeSeconds)
    const jti = tokenIdOf(grant, String(draft.payload.jti))
    Object.assign(draft.payload, grantedClaims(grant, { now: now(), lifetimeSeconds }), { jti })
  }

  /** To what the token of a request that was granted is to be bound. */
  bindingOf(ctx: KoaContextWithOIDC): TokenBinding['kind'] | null {
    return this.#granted(ctx).binding
  }

  #granted(ctx: KoaContextWithOIDC): Decision {
    const decision = this.#decisions.get(ctx)
    if (decision === undefined) throw new Error('the token was not granted')
    return decision
  }
}
