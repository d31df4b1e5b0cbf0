/**
 * The request of a command for an access token.
 */
import { SERVICE_AUDIENCE_SCOPE } from '../domain/identities/token-grant.ts'
import type { Credentials } from '../secret-files/credentials-file.ts'
import { codeOf, type HttpAnswer, parseJson, sendRequest } from './http-request.ts'

/** In milliseconds. */
const TIMEOUT = 60_000

/** The response of the token endpoint (Spec §2.1). */
export interface TokenResponse {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in: number
}

/** Scopes with which the API can be called. */
export const API_SCOPE = `openid ${SERVICE_AUDIENCE_SCOPE}`

/**
 * Gets an access token with the client credentials grant (Spec §4.1).
 *
 * @throws {Error} if the server cannot be reached, or refuses; the message says which.
 */
export async function requestToken(credentials: Credentials, scope: string): Promise<TokenResponse> {
  const { token_endpoint, client_id, client_secret } = credentials
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  let response: HttpAnswer
  try {
    response = await sendRequest(new URL(token_endpoint), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      signal: AbortSignal.timeout(TIMEOUT),
    })
  } catch (error) {
    throw new Error(
      `cannot reach ${token_endpoint}${codeOf(error)}: is the server running? "keyturn serve" starts it`,
      { cause: error },
    )
  }
  const answer = parseJson(response.body)
  if (response.status === 200) {
    if (isTokenResponse(answer)) return answer
    throw new Error(`no token: what ${token_endpoint} answered is none; is that address another server's?`)
  }
  const { error, error_description = 'no description' } = (answer ?? {}) as Record<string, unknown>
  throw new Error(
    typeof error === 'string'
      ? `no token: ${error}: ${error_description}`
      : `no token: ${token_endpoint} answered with status ${response.status}`,
  )
}

function isTokenResponse(answer: unknown): answer is TokenResponse {
  const { access_token, token_type, expires_in } = (answer ?? {}) as Record<keyof TokenResponse, unknown>
  return typeof access_token === 'string' && typeof token_type === 'string' && typeof expires_in === 'number'
}
