/**
 * Access tokens for commands: the request for one, its refusal, and a source of them for calls of the API.
 */
import type { TokenSource } from '@keyturn/client'
import { SERVICE_AUDIENCE_SCOPE } from '../../domain/identities/token-grant.ts'
import { printable } from '../../domain/printable.ts'
import { OAUTH_PATHS } from '../../oauth/requests/endpoints.ts'
import { ConnectionError, connectionFailure } from './connection-failure.ts'
import { type HttpAnswer, requestJson } from './http-request.ts'
import { assertSecretsAreSafe, type Target } from './target.ts'
import type { TlsOptions } from './tls-files.ts'

/** How long a response may take, in milliseconds. */
const TIMEOUT = 60_000

/** Scopes with which the API can be called. */
export const API_SCOPE = `openid ${SERVICE_AUDIENCE_SCOPE}`

type TokenResponse = {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in: number
}

/** A request for an access token that was refused. */
export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal'
  /** The `error` of the response (RFC 6749 §5.2). */
  readonly code: string

  constructor(code: string, description: string) {
    super(`no token: ${printable(code)}: ${printable(description)}`)
    this.code = code
  }
}

/**
 * Gets an access token for the caller with the client credentials grant (Spec §4.1).
 *
 * @param resource An audience to ask for (RFC 8707).
 * @throws {TokenRefusal}
 * @throws {ConnectionError} if there is no response, or it is not one of a token endpoint.
 * @throws {Error} if the caller has no client credentials.
 */
export async function requestToken(target: Target, scope: string, resource?: string): Promise<TokenResponse> {
  if ('personal_access_token' in target) {
    throw new Error(
      'no token: a personal access token calls the API itself, and gets no access tokens: name client credentials with ' +
        '--credentials or --context',
    )
  }
  const { client_id, client_secret, tls } = target
  const endpoint = await tokenEndpointOf(target)
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  if (resource !== undefined) form.set('resource', resource)
  const { status, json } = await ask(endpoint, tls, form)
  const { access_token, token_type, expires_in, error, error_description = 'no description' } = json
  if (status !== 200) {
    if (typeof error === 'string') throw new TokenRefusal(error, String(error_description))
    throw new ConnectionError(`no token: ${endpoint} answered with status ${status}`)
  }
  if (typeof access_token === 'string' && typeof token_type === 'string' && typeof expires_in === 'number')
    return { ...json, access_token, token_type, expires_in }
  throw new ConnectionError(`no token: what ${endpoint} answered is none; is that address another server's?`)
}

/** Tokens to call the API with: a new access token when the last one was refused. */
export function tokensOf(target: Target): TokenSource {
  if ('personal_access_token' in target) {
    return { token: async () => target.personal_access_token, invalidate: () => {} }
  }
  let last: string | undefined
  return {
    async token() {
      last ??= (await requestToken(target, API_SCOPE)).access_token
      return last
    },
    invalidate: () => {
      last = undefined
    },
  }
}

/**
 * The token endpoint of a server. If neither a context nor a credentials file says which it is, its metadata (RFC 8414) does.
 *
 * @throws {ConnectionError} if the server cannot be reached, or has another base URL.
 */
export async function tokenEndpointOf(target: Pick<Target, 'base_url' | 'token_endpoint' | 'tls'>): Promise<string> {
  const { base_url, tls } = target
  if (target.token_endpoint !== undefined) return target.token_endpoint
  const url = new URL(OAUTH_PATHS.authorizationServer, base_url).href
  const { status, json } = await ask(url, tls)
  const { issuer, token_endpoint } = json
  if (status !== 200 || typeof token_endpoint !== 'string' || !URL.canParse(token_endpoint))
    throw new ConnectionError(
      `${url} answered with no metadata of a token issuer (status ${status}): is the address right?`,
    )
  if (issuer !== base_url)
    throw new ConnectionError(`the base URL of the server at ${base_url} is ${issuer}: use that address`)
  assertSecretsAreSafe(token_endpoint)
  return token_endpoint
}

/** Follows no redirect, which could take a secret to another address. */
async function ask(url: string, tls: TlsOptions, form?: URLSearchParams): Promise<HttpAnswer> {
  const request = { form, signal: AbortSignal.timeout(TIMEOUT), tls }
  const answer = await requestJson(new URL(url), request).catch((error: unknown) => {
    throw connectionFailure(error, url)
  })
  if (answer.status < 300 || answer.status >= 400) return answer
  throw new ConnectionError(
    `cannot reach ${url}: it answers with a redirect (${answer.status}): name the address itself`,
  )
}
