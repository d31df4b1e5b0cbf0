/**
 * A client of a running server: gets access tokens for the caller and calls the API with them.
 */
import type { DescService } from '@bufbuild/protobuf'
import type { Client, Transport } from '@connectrpc/connect'
import { type ConnectionOptions, findTarget, type Target } from './connection/target.ts'
import type { Io } from './io.ts'
import { createJsonTransport } from './json-transport.ts'
import { API_SCOPE, requestTokenOf } from './token-request.ts'
import { createClient } from './unary-client.ts'

/** The timeout of a call, in milliseconds. Generating a large RSA key takes seconds. */
const TIMEOUT = 60_000

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
async function openSession(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Session> {
  return await openSessionOf(await findTarget(io, options))
}

/** Opens the API of a target. */
export async function openSessionOf(target: Target): Promise<Session> {
  const { baseUrl, tls } = target
  const bearer = createBearer(target)
  // Before the first call, so that a refusal is not one of the call.
  const { tokenLifetimeSeconds } = await bearer()
  const accessToken = async () => (await bearer()).token
  return { api: createJsonTransport({ baseUrl, tls, accessToken, timeoutMs: TIMEOUT }), tokenLifetimeSeconds }
}

/** A client of one service. */
export async function connect<Service extends DescService>(
  io: Pick<Io, 'env'>,
  options: ConnectionOptions,
  service: Service,
): Promise<Client<Service>> {
  return createClient(service, await openApi(io, options))
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
