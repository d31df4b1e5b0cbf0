/** Grants tokens to authenticated clients: decides scopes, audience and claims, binds the token, and signs it. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { errors } from 'oidc-provider'
import type { Dpop } from '../../app/access/dpop.ts'
import type { TokenBinding } from '../../domain/identities/token-binding.ts'
import { decideTokenGrant, type GrantedToken } from '../../domain/identities/token-grant.ts'
import { tokenIdOf } from '../../domain/identities/token-revocation.ts'
import type { Signer } from '../../domain/ports/keys.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { FoundClient } from '../client-authentication/client-authentication.ts'
import { type Answer, toOAuthError, unavailable } from '../requests/answers.ts'
import { OAUTH_PATHS } from '../requests/endpoints.ts'

export interface TokenGrantOptions {
  /** The base URL, without a slash at its end. */
  readonly issuer: string
  readonly tokenLifetimeSeconds: number
  /** Whether scopes of ZITADEL are understood, and discovery has what its clients need. */
  readonly acceptsZitadelScopes: boolean
  readonly now: () => Date
  readonly dpop: Pick<Dpop, 'verify' | 'useOnce'>
  /** Signs with the active key of the newest key ring; null while no key can sign. */
  readonly signer: () => AccessTokenSigner | null
  readonly contexts: RequestContext
}

/** What an authenticated client asks for. */
export interface RequestedToken {
  readonly scope: string | undefined
  readonly resources: readonly string[]
}

/** What a token is bound to: the claim `cnf`, and headers of the response. */
interface Confirmation {
  readonly cnf?: Readonly<Record<string, string>>
  readonly headers: readonly string[]
}

/**
 * Answers a token request of an authenticated client (RFC 6749 §5.1).
 *
 * @throws `unauthorized_client`, `invalid_scope`, `invalid_target`, `invalid_request`; `invalid_client` if the credential is not live any more;
 * {DomainError} of DPoP proofs; {Refusal} 503.
 */
export async function grantToken(
  req: IncomingMessage,
  client: FoundClient,
  asked: RequestedToken,
  options: TokenGrantOptions,
): Promise<Answer> {
  const { issuer, tokenLifetimeSeconds, now, contexts } = options
  const { claimed, clientId } = client
  let decision = decide(req, client, asked, options)
  if (decision.grant.kind === 'denied' && !claimed.isConfirmed) {
    await claimed.confirmProved(now)
    decision = decide(req, client, asked, options)
  }
  const { grant, binding } = decision
  if (grant.kind === 'denied') throw toOAuthError(grant)
  // Last, because it uses a proof up.
  const { cnf, headers } = await confirmationOf(req, binding, options)
  const lifetimeSeconds = lifetimeOf(grant, tokenLifetimeSeconds)
  const claims = grantedClaims(grant, { now: now(), lifetimeSeconds })
  const sign = options.signer()
  if (sign === null) throw unavailable()
  const token = await sign(grant, {
    ...claims,
    ...(cnf === undefined ? {} : { cnf }),
    client_id: clientId,
    iss: issuer,
  })
  contexts.granted(req, { credential: claimed.proof?.kind ?? 'client_secret', binding: binding ?? 'none' })
  const type = binding === 'dpop' ? 'DPoP' : 'Bearer'
  // No character of a token needs an escape, which `JSON.stringify` would look for.
  const members = JSON.stringify({ expires_in: lifetimeSeconds, scope: claims.scope, token_type: type })
  return { status: 200, headers, body: `{"access_token":"${token}",${members.slice(1)}` }
}

function decide(
  req: IncomingMessage,
  { claimed }: FoundClient,
  { scope, resources }: RequestedToken,
  { issuer, acceptsZitadelScopes, contexts }: TokenGrantOptions,
) {
  const { proved: user, projectName } = claimed
  const binding = bindingOf(req, user.certificateBoundTokens, contexts)
  const grant = decideTokenGrant(user, {
    projectName,
    scope,
    isBound: binding !== null,
    serviceAudience: issuer,
    resources,
    acceptsZitadelScopes,
  })
  return { grant, binding }
}

/**
 * To what the token of a request is going to be bound: without a good proof or a readable certificate there will be none.
 *
 * A proof goes first, because the client has made it for this request; certificates are there for other reasons as well.
 */
function bindingOf(
  req: IncomingMessage,
  certificateBoundTokens: boolean,
  contexts: Pick<RequestContext, 'certificateOf'>,
): TokenBinding['kind'] | null {
  if (req.headers.dpop !== undefined) return 'dpop'
  return certificateBoundTokens && contexts.certificateOf(req).kind !== 'none' ? 'certificate' : null
}

/** RFC 9449 §5, RFC 8705 §3. */
async function confirmationOf(
  req: IncomingMessage,
  binding: TokenBinding['kind'] | null,
  { dpop, contexts }: Pick<TokenGrantOptions, 'dpop' | 'contexts'>,
): Promise<Confirmation> {
  if (binding === null) return UNBOUND
  if (binding === 'certificate') {
    const certificate = contexts.certificateOf(req)
    if (certificate.kind === 'presented') return { cnf: { 'x5t#S256': certificate.thumbprint }, headers: [] }
    const reason = certificate.kind === 'unreadable' ? certificate.reason : 'the connection has none any more'
    throw new errors.InvalidRequest(`the client certificate cannot be read: ${reason}`)
  }
  const verified = await dpop.verify({ proof: String(req.headers.dpop), method: 'POST', path: OAUTH_PATHS.token })
  await dpop.useOnce(verified)
  const { keyThumbprint, nextNonce } = verified
  return { cnf: { jkt: keyThumbprint }, headers: nextNonce === null ? [] : ['dpop-nonce', nextNonce] }
}

const UNBOUND: Confirmation = { headers: [] }

/** How long a token lives, in seconds. @param limit That of the instance, which may have been lowered. */
function lifetimeOf({ settings }: GrantedToken, limit: number): number {
  return Math.min(settings.tokenLifetimeSeconds ?? limit, limit)
}

/**
 * The claims that depend on the grant; those of the user come first, so that they replace no other. `jti` is added when a token is
 * signed; no claim of a user has its name.
 */
function grantedClaims(
  { subject, audience, scopes, roleClaims, settings }: GrantedToken,
  { now, lifetimeSeconds }: { readonly now: Date; readonly lifetimeSeconds: number },
) {
  const iat = Math.floor(now.getTime() / 1000)
  return {
    ...settings.tokenClaims,
    ...roleClaims,
    iat,
    exp: iat + lifetimeSeconds,
    sub: subject,
    aud: audience,
    scope: scopes.join(' '),
  }
}

export type AccessTokenSigner = (grant: GrantedToken, claims: Readonly<Record<string, unknown>>) => Promise<string>

export function createAccessTokenSigner({ key, sign }: Signer): AccessTokenSigner {
  const header = encode({ alg: key.algorithm, typ: 'at+jwt', kid: key.keyId })
  return async (grant, claims) => {
    const jti = tokenIdOf(grant, randomUUID())
    const signed = `${header}.${encode({ jti, ...claims })}`
    const signature = await sign(Buffer.from(signed, 'latin1'))
    const { buffer, byteOffset, byteLength } = signature
    return `${signed}.${Buffer.from(buffer, byteOffset, byteLength).toString('base64url')}`
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
