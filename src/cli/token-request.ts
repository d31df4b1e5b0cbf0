/**
 * The request of a command for an access token.
 */
import { SERVICE_AUDIENCE_SCOPE } from '../domain/identities/token-grant.ts'
import type { Credentials } from '../secret-files/credentials-file.ts'
import { ConnectionError } from './connection/connection-failure.ts'
import { requestJson } from './connection/json-request.ts'
import type { Target } from './connection/target.ts'
import type { TlsOptions } from './connection/tls-files.ts'
import { TokenRefusal } from './token-refusal.ts'

/** The response of the token endpoint (Spec §2.1). */
export type TokenResponse = {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in: number
}

/** Scopes with which the API can be called. */
export const API_SCOPE = `openid ${SERVICE_AUDIENCE_SCOPE}`

/** Where to get a token, and for whom. */
export type TokenClient = Pick<Credentials, 'token_endpoint' | 'client_id' | 'client_secret'>

/**
 * Gets an access token with the client credentials grant (Spec §4.1).
 *
 * @param options `resource`: an audience to ask for (RFC 8707).
 * @throws {TokenRefusal}
 * @throws {ConnectionError} if there is no response, or it is not one of a token endpoint.
 */
export async function requestToken(
  client: TokenClient,
  scope: string,
  { tls = {}, resource }: { readonly tls?: TlsOptions; readonly resource?: string | undefined } = {},
): Promise<TokenResponse> {
  const { token_endpoint, client_id, client_secret } = client
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  if (resource !== undefined) form.set('resource', resource)
  const { status, json } = await requestJson(token_endpoint, { tls, form })
  if (status === 200) {
    if (isTokenResponse(json)) return json
    throw new ConnectionError(`no token: what ${token_endpoint} answered is none; is that address another server's?`)
  }
  const { error, error_description = 'no description' } = (json ?? {}) as Record<string, unknown>
  if (typeof error === 'string') throw new TokenRefusal(error, String(error_description))
  throw new ConnectionError(`no token: ${token_endpoint} answered with status ${status}`)
}

/**
 * Gets an access token for the caller.
 *
 * @throws {Error} if the caller has no client credentials; otherwise like `requestToken`.
 */
export async function requestTokenOf(target: Target, scope: string, resource?: string): Promise<TokenResponse> {
  const { identity, tls } = target
  if (identity.kind === 'personal access token') {
    throw new Error(
      'no token: a personal access token calls the API itself, and gets no access tokens: name client credentials with ' +
        '--credentials or --context',
    )
  }
  const { clientId: client_id, clientSecret: client_secret } = identity
  const client = { token_endpoint: await tokenEndpointOf(target), client_id, client_secret }
  return await requestToken(client, scope, { tls, resource })
}

/** The token endpoint of a server. @throws {ConnectionError} if discovery has to find it, and does not. */
export async function tokenEndpointOf({ tokenEndpoint, baseUrl, tls }: Target): Promise<string> {
  if (tokenEndpoint !== undefined) return tokenEndpoint
  const { discoverTokenEndpoint } = await import('./connection/token-endpoint.ts')
  return await discoverTokenEndpoint(baseUrl, tls)
}

function isTokenResponse(answer: unknown): answer is TokenResponse {
  const { access_token, token_type, expires_in } = (answer ?? {}) as Record<keyof TokenResponse, unknown>
  return typeof access_token === 'string' && typeof token_type === 'string' && typeof expires_in === 'number'
}
