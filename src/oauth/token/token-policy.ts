/**
 * Connects the domain's token policy to oidc-provider: it decides scopes and audience when the resource server is asked for, and sets
 * the claims before the token is signed.
 */
import { type Client, errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider'
import { type DeniedToken, decideTokenGrant, type GrantedToken } from '../../domain/identities/token-grant.ts'
import type { ActiveWebKey } from '../../domain/keys/web-key.ts'
import type { Clients } from '../client-authentication/clients.ts'
import { toOAuthError } from '../errors.ts'
import { grantedClaims } from './access-token-signer.ts'
import { hasProof } from './sender-constraint.ts'

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
   * The only resource of the provider, for a request that names none. The grant decides the audiences of the token.
   */
  defaultResource = (ctx: KoaContextWithOIDC): string => {
    this.#withoutResource.add(ctx)
    return this.#options.issuer
  }

  /**
   * Decides the grant of an authenticated client.
   *
   * Called for each `resource` of the request, so all of them must name this service (RFC 8707 §2).
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
    // oidc-provider responds with the scope of the request. If that has none, the response must have the default (RFC 6749 §5.1).
    if (params !== undefined) params.scope = scope
    return {
      scope,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: signingKey.algorithm, kid: signingKey.keyId } },
    }
  }

  #decide(ctx: KoaContextWithOIDC, client: Client): GrantedToken | DeniedToken {
    const { issuer, userOf, acceptsZitadelScopes } = this.#options
    const { user, projectName } = userOf(client)
    const { params } = ctx.oidc
    return decideTokenGrant(user, {
      projectName,
      scope: typeof params?.scope === 'string' ? params.scope : undefined,
      isBound: hasProof(ctx.req),
      serviceAudience: issuer,
      namesService: !this.#withoutResource.has(ctx),
      acceptsZitadelScopes,
    })
  }

  /** Sets the granted claims. */
  customizeClaims = (ctx: KoaContextWithOIDC, draft: TokenDraft): void => {
    const grant = this.#grants.get(ctx)
    if (grant === undefined) throw new Error('the token was not granted')
    const { now, tokenLifetimeSeconds: lifetimeSeconds } = this.#options
    Object.assign(draft.payload, grantedClaims(grant, { now: now(), lifetimeSeconds }))
  }
}
