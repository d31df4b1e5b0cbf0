/**
 * Discovery of the token endpoint. Loaded when a context or a credentials file does not say which it is.
 */
import { OAUTH_PATHS } from '../../oauth/endpoints.ts'
import { ConnectionError } from './connection-failure.ts'
import { requestJson } from './json-request.ts'
import { assertSecretsAreSafe } from './target.ts'
import type { TlsOptions } from './tls-files.ts'

/**
 * The token endpoint of a server, as its metadata (RFC 8414) has it.
 *
 * @throws {ConnectionError} if the server cannot be reached, or has another base URL.
 */
export async function discoverTokenEndpoint(baseUrl: string, tls: TlsOptions): Promise<string> {
  const url = new URL(OAUTH_PATHS.authorizationServer, baseUrl).href
  const { status, json } = await requestJson(url, { tls })
  const { issuer, token_endpoint } = (json ?? {}) as Record<string, unknown>
  if (
    status !== 200 ||
    typeof issuer !== 'string' ||
    typeof token_endpoint !== 'string' ||
    !URL.canParse(token_endpoint)
  ) {
    throw new ConnectionError(
      `${url} answered with no metadata of a token issuer (status ${status}): is the address right?`,
    )
  }
  if (issuer !== baseUrl) {
    throw new ConnectionError(`the base URL of the server at ${baseUrl} is ${issuer}: use that address`)
  }
  assertSecretsAreSafe(token_endpoint)
  return token_endpoint
}
