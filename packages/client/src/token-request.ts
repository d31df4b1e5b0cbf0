/**
 * One request to the token endpoint (client credentials grant, RFC 6749 §4.4; Spec §4.1), and what its response means.
 */
import { createDiscovery, discard, parseIssuer, type Runtime, readJson } from '@keyturn/verify/discovery'
import { authenticationParameters, type ClientAuthentication } from './client-authentication.ts'
import type { DpopKeyPair, DpopProver } from './dpop.ts'
import { TokenError, type TokenErrorFacts } from './token-error.ts'

export type TokenRequestOptions = ClientAuthentication & {
  /** The base URL of Keyturn, such as `https://id.example.com`. */
  readonly issuer: string
  /** `<user_id>@<project_name>`. It may be left out with a token file whose issuer and subject name one service user. */
  readonly clientId?: string | undefined
  /** Scopes, separated by spaces or as a list. Default: none, which requests a token for the client's own project. */
  readonly scope?: string | readonly string[] | undefined
  /** Resource indicators (RFC 8707): audiences of projects, or the base URL of Keyturn for calls of its API. Default: none. */
  readonly resource?: string | readonly string[] | undefined
  /**
   * Binds the tokens to a key (DPoP, RFC 9449), so that a stolen one is worth nothing. `true`: to a key of this process, which cannot
   * leave it. Default: bearer tokens.
   */
  readonly dpop?: boolean | DpopKeyPair | undefined
  /** For a proxy, a client certificate or a test. Default: that of the platform. */
  readonly fetch?: typeof fetch | undefined
  /** The limit for one response, in milliseconds. Default 10000. */
  readonly timeoutMillis?: number | undefined
}

export interface IssuedToken {
  readonly accessToken: string
  readonly lifetimeMillis: number
  /** When it was requested, by the clock of this machine. */
  readonly requestedAt: number
}

const MAX_TEXT = 300

/**
 * A function that sends one token request, and with `prover` another one when the server wants a nonce in the proof.
 *
 * @throws {TypeError} now, if an option is missing or has no valid value. {@link TokenError} from the returned function.
 */
export function createTokenRequest(
  options: TokenRequestOptions,
  { runtime, prover }: { readonly runtime: Runtime; readonly prover: DpopProver | undefined },
): () => Promise<IssuedToken> {
  const { clientId = '', tokenFile, fetch = globalThis.fetch, timeoutMillis = 10_000 } = options
  const issuer = parseIssuer(options.issuer)
  if (clientId === '' && (tokenFile === undefined || options.clientId !== undefined))
    throw new TypeError('clientId must not be empty')
  const { clientSecret, privateKey, clientCertificate } = options
  const given = [clientSecret, privateKey, tokenFile, clientCertificate].filter((each) => each !== undefined)
  if (given.length !== 1)
    throw new TypeError('exactly one of clientSecret, privateKey, tokenFile and clientCertificate must be given')
  const discover = createDiscovery(issuer, { fetch, timeoutMillis })
  const fixed = fixedParameters(options)

  const tokenType = prover === undefined ? 'bearer' : 'dpop'
  const send = async (): Promise<IssuedToken> => {
    const { tokenEndpoint } = await discover().catch((cause: unknown) => {
      throw unavailable(cause instanceof Error ? cause.message : 'discovery failed', { cause })
    })
    const authentication = await authenticationParameters(options, { clientId, issuer })
    const proof = await prover?.proof({ method: 'POST', url: tokenEndpoint })
    const requestedAt = runtime.now()
    const response = await fetch(tokenEndpoint, {
      method: 'POST',
      body: new URLSearchParams([...fixed, ...Object.entries(authentication)]),
      headers: { accept: 'application/json', ...(proof === undefined ? {} : { dpop: proof }) },
      // A redirect must not send the secret to another address.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMillis),
    }).catch((cause: unknown) => {
      throw unavailable(`cannot reach ${tokenEndpoint}`, { cause })
    })
    prover?.remember(tokenEndpoint, response.headers)
    if (response.ok) return { ...(await issuedToken(response, tokenEndpoint, tokenType)), requestedAt }
    throw await refusal(response, runtime.now())
  }
  return async () => {
    try {
      return await send()
    } catch (error) {
      const wantsNonce = error instanceof TokenError && error.oauthError === 'use_dpop_nonce'
      if (prover === undefined || !wantsNonce) throw error
      return await send()
    }
  }
}

function fixedParameters({ clientId, scope = [], resource = [] }: TokenRequestOptions): [string, string][] {
  const parameters = new URLSearchParams({ grant_type: 'client_credentials' })
  if (clientId !== undefined) parameters.set('client_id', clientId)
  const scopes = [scope].flat().join(' ')
  if (scopes !== '') parameters.set('scope', scopes)
  for (const each of [resource].flat()) parameters.append('resource', each)
  return [...parameters]
}

async function issuedToken(response: Response, endpoint: string, tokenType: 'bearer' | 'dpop') {
  const { access_token, token_type, expires_in } = (await readJson(response)) ?? {}
  const isToken =
    typeof access_token === 'string' && access_token !== '' && String(token_type).toLowerCase() === tokenType
  if (!isToken || typeof expires_in !== 'number' || !(expires_in > 0))
    throw new TokenError(`${endpoint} answered with something else than a ${tokenType} token with "expires_in"`, {
      code: 'unusable',
      status: response.status,
    })
  return { accessToken: access_token, lifetimeMillis: expires_in * 1000 }
}

async function refusal(response: Response, now: number): Promise<TokenError> {
  const { status } = response
  if (status === 429 || status >= 500) {
    await discard(response)
    const retryAfterMillis = parseRetryAfter(response.headers.get('retry-after'), now)
    return unavailable(`the token endpoint answered with status ${status}`, { status, retryAfterMillis })
  }
  const { error, error_description: description } = (await readJson(response)) ?? {}
  if (typeof error !== 'string')
    return new TokenError(`the token endpoint answered with status ${status}`, { code: 'unusable', status })
  const oauthError = error.slice(0, MAX_TEXT)
  const reason = typeof description === 'string' ? `: ${description.slice(0, MAX_TEXT)}` : ''
  return new TokenError(`no token: ${oauthError}${reason}`, { code: 'refused', oauthError, status })
}

function unavailable(message: string, facts: Omit<TokenErrorFacts, 'code'>): TokenError {
  return new TokenError(message, { code: 'unavailable', ...facts })
}

/** The value of `Retry-After`, seconds or a date, in milliseconds from now; undefined if it is missing or neither. */
function parseRetryAfter(value: string | null, now: number): number | undefined {
  const text = value?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // `Date.parse` takes much that is no date of HTTP (RFC 9110 §5.6.7), such as `-5`.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
