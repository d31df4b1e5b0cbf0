/** Keyturn as a client of an OpenID provider, at which people prove who they are: authorization code with PKCE (RFC 7636), state and nonce. */
import * as client from 'openid-client'
import type { Person } from '../domain/console/person.ts'
import { DomainError } from '../domain/errors.ts'
import type { OpenIdProvider, SignInAttempt } from '../domain/ports/console.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../domain/time.ts'

/** How long the provider may take for an answer, in seconds. */
const TIMEOUT_SECONDS = 10

export interface OpenIdProviderOptions {
  readonly issuer: string
  readonly clientId: string
  /** Null: a public client, which PKCE alone protects. */
  readonly clientSecret: string | null
  /** Separated by spaces, with `openid`. */
  readonly scopes: string
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string
}

/** A client of the provider, whose metadata are fetched when the first person signs in. */
export function createOpenIdProvider(options: OpenIdProviderOptions): OpenIdProvider {
  const { scopes, redirectUri } = options
  let found: Promise<client.Configuration> | undefined
  const configuration = (): Promise<client.Configuration> => {
    found ??= discover(options).catch((error: unknown) => {
      found = undefined
      throw error
    })
    return found
  }

  return {
    begin: () =>
      translating(async () => {
        const config = await configuration()
        const attempt: SignInAttempt = {
          state: client.randomState(),
          nonce: client.randomNonce(),
          verifier: client.randomPKCECodeVerifier(),
        }
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: scopes,
          state: attempt.state,
          nonce: attempt.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(attempt.verifier),
          code_challenge_method: 'S256',
        })
        return { url: url.href, attempt }
      }),

    finish: (query, { state, nonce, verifier }) =>
      translating(async () => {
        const tokens = await client.authorizationCodeGrant(await configuration(), new URL(redirectUri + query), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (claims === undefined) throw failed('the provider sent no ID token')
        // openid-client checks `exp` and `nbf`.
        if (claims.iat > Date.now() / 1000 + CLOCK_TOLERANCE_SECONDS)
          throw failed('the ID token is dated in the future')
        return { issuer: claims.iss, subject: claims.sub, claims } satisfies Person
      }),
  }
}

function discover({ issuer, clientId, clientSecret }: OpenIdProviderOptions): Promise<client.Configuration> {
  const url = new URL(issuer)
  // The signature of the ID token is checked, although TLS has proved who sent it (OpenID Connect Core §3.1.3.7).
  const execute = [client.enableNonRepudiationChecks]
  // The settings allow http for loopback addresses only.
  if (url.protocol === 'http:') execute.push(client.allowInsecureRequests)
  const authentication = clientSecret === null ? client.None() : client.ClientSecretBasic(clientSecret)
  return client.discovery(url, clientId, undefined, authentication, { execute, timeout: TIMEOUT_SECONDS })
}

/** @throws {DomainError} `sign_in_failed` if the provider or the browser refuses; `openid_provider_unavailable` for all else. */
async function translating<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DomainError) throw error
    if (isRefusal(error)) throw failed('the OpenID provider did not confirm the sign-in', error)
    throw new DomainError('openid_provider_unavailable', 'the OpenID provider cannot be asked: try again later', {
      cause: error,
    })
  }
}

/** Whether the answer of the provider, or what the browser brought of it, is the reason. */
function isRefusal(error: unknown): boolean {
  if (error instanceof client.AuthorizationResponseError) return true
  if (error instanceof client.ResponseBodyError) return error.status < 500
  return error instanceof client.ClientError && REFUSALS.includes(error.code ?? '')
}

/** What is wrong with a response, by the codes of openid-client. */
const REFUSALS = [
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]

function failed(message: string, cause?: unknown): DomainError {
  return new DomainError('sign_in_failed', message, { cause })
}
