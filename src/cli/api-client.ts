/**
 * A client of a running server: gets a token with the credentials file and calls the API with it.
 */
import type { DescService } from '@bufbuild/protobuf'
import { type Client, createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { z } from 'zod'
import { credentialsFileFrom } from '../config/config.ts'
import { SERVICE_AUDIENCE_SCOPE } from '../domain/identities/token-grant.ts'
import { type Credentials, readCredentials } from '../secret-files/credentials-file.ts'
import type { Io } from './io.ts'

/** How long to wait for an answer, in milliseconds. Generating a large RSA key takes seconds. */
const TIMEOUT = 60_000

const tokenResponse = z.looseObject({
  access_token: z.string(),
  token_type: z.string(),
  expires_in: z.number(),
})
const errorResponse = z.object({ error: z.string(), error_description: z.string().optional() })

/** What the token endpoint answers (Spec §2.1). */
export type TokenResponse = z.output<typeof tokenResponse>

/** Scopes with which the API can be called. */
export const API_SCOPE = `openid ${SERVICE_AUDIENCE_SCOPE}`

/**
 * Gets an access token with the client credentials grant (Spec §4.1).
 *
 * @throws {Error} that says whether the server could not be reached or what it answered.
 */
export async function requestToken(credentials: Credentials, scope: string): Promise<TokenResponse> {
  const { token_endpoint, client_id, client_secret } = credentials
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  let response: Response
  try {
    const signal = AbortSignal.timeout(TIMEOUT)
    // The secret is for this address and no other.
    response = await fetch(token_endpoint, { method: 'POST', body, redirect: 'error', signal })
  } catch (error) {
    throw new Error(
      `cannot reach ${token_endpoint}${reasonOf(error)}: is the server running? "keyturn serve" starts it`,
      { cause: error },
    )
  }
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok) {
    const granted = tokenResponse.safeParse(answer)
    if (granted.success) return granted.data
    throw new Error(`no token: what ${token_endpoint} answered is none; is that address another server's?`)
  }
  const refused = errorResponse.safeParse(answer)
  throw new Error(
    refused.success
      ? `no token: ${refused.data.error}: ${refused.data.error_description ?? 'no description'}`
      : `no token: ${token_endpoint} answered with status ${response.status}`,
  )
}

/** What says where the credentials file is; without it, the environment does. */
interface CredentialsFlag {
  readonly credentials?: string | undefined
}

/** The way to the API for the credentials file that the flag or the environment names: several clients can share it. */
export async function openApi(io: Pick<Io, 'env'>, flags: CredentialsFlag): Promise<Transport> {
  const credentials = await readCredentials(credentialsFileFrom(flags, io.env))
  const { access_token } = await requestToken(credentials, API_SCOPE)
  const authenticate: Interceptor = (next) => (req) => {
    req.header.set('authorization', `Bearer ${access_token}`)
    return next(req)
  }
  return createConnectTransport({
    baseUrl: credentials.base_url,
    httpVersion: '1.1',
    interceptors: [authenticate],
    defaultTimeoutMs: TIMEOUT,
  })
}

/** A client of one service. */
export async function connect<Service extends DescService>(
  io: Pick<Io, 'env'>,
  flags: CredentialsFlag,
  service: Service,
): Promise<Client<Service>> {
  return createClient(service, await openApi(io, flags))
}

/** Why `fetch` failed: the code of the system or of TLS, in brackets. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : ''
}
