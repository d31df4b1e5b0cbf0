/**
 * A client of a running server: gets access tokens for the caller and calls the API with them.
 */
import type { DescService } from '@bufbuild/protobuf'
import { type Client, createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { z } from 'zod'
import { SERVICE_AUDIENCE_SCOPE } from '../domain/identities/token-grant.ts'
import { OAUTH_PATHS } from '../oauth/endpoints.ts'
import type { Credentials } from '../secret-files/credentials-file.ts'
import { ConnectionError, connectionCode, connectionFailure } from './connection/connection-failure.ts'
import { requestJson } from './connection/http-request.ts'
import { type ConnectionOptions, findTarget, type Target } from './connection/target.ts'
import type { TlsOptions } from './connection/tls-files.ts'
import type { Io } from './io.ts'

/** The timeout of a call, in milliseconds. Generating a large RSA key takes seconds. */
const TIMEOUT = 60_000

const tokenResponse = z
  .object({ access_token: z.string(), token_type: z.string(), expires_in: z.number() })
  .catchall(z.json())
const errorResponse = z.object({ error: z.string(), error_description: z.string().optional() })
const metadata = z.object({ issuer: z.string(), token_endpoint: z.url() })

/** The response of the token endpoint (Spec §2.1). */
export type TokenResponse = z.output<typeof tokenResponse>

/** Scopes with which the API can be called. */
export const API_SCOPE = `openid ${SERVICE_AUDIENCE_SCOPE}`

/** Where to get a token, and for whom. */
export type TokenClient = Pick<Credentials, 'token_endpoint' | 'client_id' | 'client_secret'>

/**
 * Gets an access token with the client credentials grant (Spec §4.1).
 *
 * @throws {ConnectionError} if the server cannot be reached, or refuses; the message says which.
 */
export async function requestToken(client: TokenClient, scope: string, tls: TlsOptions = {}): Promise<TokenResponse> {
  const { token_endpoint, client_id, client_secret } = client
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const { status, json } = await requestJson(token_endpoint, { tls, form })
  if (status >= 200 && status < 300) {
    const granted = tokenResponse.safeParse(json)
    if (granted.success) return granted.data
    throw new ConnectionError(`no token: what ${token_endpoint} answered is none; is that address another server's?`)
  }
  const refused = errorResponse.safeParse(json)
  throw new ConnectionError(
    refused.success
      ? `no token: ${refused.data.error}: ${refused.data.error_description ?? 'no description'}`
      : `no token: ${token_endpoint} answered with status ${status}`,
  )
}

/**
 * The token endpoint of a server, as its metadata (RFC 8414) has it.
 *
 * @throws {ConnectionError} if the server cannot be reached, or has another base URL.
 */
export async function discoverTokenEndpoint(baseUrl: string, tls: TlsOptions): Promise<string> {
  const url = new URL(OAUTH_PATHS.authorizationServer, baseUrl).href
  const { status, json } = await requestJson(url, { tls })
  const { data } = metadata.safeParse(json)
  if (status !== 200 || data === undefined) {
    throw new ConnectionError(
      `${url} answered with no metadata of a token issuer (status ${status}): is the address right?`,
    )
  }
  if (data.issuer !== baseUrl) {
    throw new ConnectionError(`the base URL of the server at ${baseUrl} is ${data.issuer}: use that address`)
  }
  return data.token_endpoint
}

/** The API, called as one caller. */
export interface Session {
  /** Authenticated. Several clients can share it. */
  readonly api: Transport
  /** How long access tokens of the server work; undefined if the caller needs none. */
  readonly tokenLifetimeSeconds: number | undefined
}

/** A transport to the API, authenticated as the caller. Several clients can share it. */
export async function openApi(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Transport> {
  return (await openSession(io, options)).api
}

/** Opens the API for the caller that options, variables or a context name. */
export async function openSession(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Session> {
  return await openSessionOf(await findTarget(io, options))
}

/** Opens the API of a target. */
export async function openSessionOf(target: Target): Promise<Session> {
  const { baseUrl, tls } = target
  const bearer = createBearer(target)
  // Before the first call, so that a refusal is not one of the call.
  const { tokenLifetimeSeconds } = await bearer()
  const authenticate: Interceptor = (next) => async (req) => {
    req.header.set('authorization', `Bearer ${(await bearer()).token}`)
    return await next(req)
  }
  const explain: Interceptor = (next) => async (req) => {
    try {
      return await next(req)
    } catch (error) {
      throw connectionCode(error) === undefined ? error : connectionFailure(error, baseUrl, tls)
    }
  }
  const api = createConnectTransport({
    baseUrl,
    httpVersion: '1.1',
    nodeOptions: tls,
    interceptors: [explain, authenticate],
    defaultTimeoutMs: TIMEOUT,
  })
  return { api, tokenLifetimeSeconds }
}

/** A client of one service. */
export async function connect<Service extends DescService>(
  io: Pick<Io, 'env'>,
  options: ConnectionOptions,
  service: Service,
): Promise<Client<Service>> {
  return createClient(service, await openApi(io, options))
}

/**
 * Gets an access token for the caller.
 *
 * @throws {ConnectionError} also if the caller has no client credentials.
 */
export async function requestTokenOf(target: Target, scope: string): Promise<TokenResponse> {
  const { baseUrl, tokenEndpoint, identity, tls } = target
  if (identity.kind === 'personal access token') {
    throw new ConnectionError(
      'no token: a personal access token calls the API itself, and gets no access tokens: name client credentials with ' +
        '--credentials or --context',
    )
  }
  const { clientId: client_id, clientSecret: client_secret } = identity
  const token_endpoint = tokenEndpoint ?? (await discoverTokenEndpoint(baseUrl, tls))
  return await requestToken({ token_endpoint, client_id, client_secret }, scope, tls)
}

/** A token to call with. */
interface Bearer extends Pick<Session, 'tokenLifetimeSeconds'> {
  readonly token: string
}

/** Gets the token to call with: a new access token when half of the lifetime of the last one is over. */
function createBearer(target: Target): () => Promise<Bearer> {
  const { identity } = target
  if (identity.kind === 'personal access token') {
    return async () => ({ token: identity.token, tokenLifetimeSeconds: undefined })
  }
  let last: (Bearer & { readonly until: number }) | undefined
  return async () => {
    if (last !== undefined && Date.now() < last.until) return last
    const asked = Date.now()
    const { access_token, expires_in } = await requestTokenOf(target, API_SCOPE)
    last = { token: access_token, tokenLifetimeSeconds: expires_in, until: asked + expires_in * 500 }
    return last
  }
}
