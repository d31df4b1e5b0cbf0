/**
 * oidc-provider: what authenticates a client by its own assertion, and takes apart what a request asks for.
 *
 * Its part of the work ends at a grant type, which is answered here; it issues and stores nothing. It is used by its documented options:
 * an adapter, a clock tolerance and a registered grant type. What a client has proved before needs no further authentication, so such a
 * client is one of the method `none`, for that request alone.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { type IncomingMessage, ServerResponse } from 'node:http'
import { stringify } from 'node:querystring'
import { Readable } from 'node:stream'
import { type Adapter, errors, Provider } from 'oidc-provider'
import { liveCredentials, type UserKey } from '../domain/identities/credential.ts'
import { ASSERTION_ALGORITHMS } from '../domain/keys/assertion-algorithm.ts'
import type { CredentialUses } from '../domain/ports/records.ts'
import type { Log, RequestContext } from '../domain/ports/runtime.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../domain/time.ts'
import type { Proof } from './client-authentication/claimed-user.ts'
import type { FoundClient } from './client-authentication/client-authentication.ts'
import type { PresentedCredential } from './client-authentication/presented-credential.ts'
import { type Answer, invalidClient } from './requests/answers.ts'
import { type ClientEndpoint, OAUTH_PATHS } from './requests/endpoints.ts'
import type { Form } from './requests/form.ts'
import { unverifiedHeader } from './requests/form.ts'
import type { RequestedToken } from './token/token-grants.ts'

export interface EngineOptions {
  readonly issuer: string
  /** Replay protection of client assertions over all replicas. */
  readonly assertions: Pick<CredentialUses, 'useAssertionOnce'>
  readonly now: () => Date
  readonly contexts: Pick<RequestContext, 'explained'>
  readonly log: Log
  readonly perform: (call: EngineCall, asked: RequestedToken) => Promise<Answer>
}

/** A request, as far as it has been looked at. */
export interface EngineCall {
  readonly req: IncomingMessage
  readonly endpoint: ClientEndpoint
  readonly form: Form
  readonly presented: PresentedCredential
  readonly client: FoundClient
}

/** Answers a call. @throws what refuses it. */
export type Engine = (call: EngineCall) => Promise<Answer>

const GRANT_TYPE = 'client_credentials'

/** A call that oidc-provider is answering, and how it ends. */
interface Pending extends EngineCall {
  answer?: Answer
  error?: unknown
}

export function createEngine({ issuer, assertions, now, contexts, log, perform }: EngineOptions): Engine {
  const calls = new WeakMap<object, Pending>()
  const callOf = (req: object | undefined): Pending => {
    const call = req === undefined ? undefined : calls.get(req)
    if (call === undefined) throw new Error('the request does not come from here')
    return call
  }
  const adapters: Readonly<Record<string, Pick<Adapter, 'find' | 'upsert'>>> = {
    Client: { find: async (id) => metadataOf(id, callOf(Provider.ctx?.req), now()), upsert: storesNothing },
    ReplayDetection: {
      // `upsert` decides: between two steps another replica could accept the same assertion.
      find: async () => undefined,
      upsert: async (id, _payload, lifetimeSeconds) => {
        if (await assertions.useAssertionOnce(id, new Date(now().getTime() + Number(lifetimeSeconds) * 1000))) return
        throw invalidClient('jti must not have been used before')
      },
    },
  }
  const provider = new Provider(issuer, {
    adapter: (name: string) => adapters[name] as Adapter,
    // It wants a key and signs nothing with it.
    jwks: { keys: [generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })] },
    clientDefaults: { id_token_signed_response_alg: 'EdDSA' },
    enabledJWA: { idTokenSigningAlgValues: ['EdDSA'], clientAuthSigningAlgValues: [...ASSERTION_ALGORITHMS] },
    clientAuthMethods: ['private_key_jwt', 'none'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    routes: { token: OAUTH_PATHS.token },
    scopes: [],
    // Otherwise the authorization code grant exists too, and is refused as `invalid_request`.
    responseTypes: [],
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
  })
  const grant = async ({ req, oidc: { params } }: { req: object; oidc: { params?: object } }): Promise<void> => {
    const call = callOf(req)
    if (call.presented.kind === 'key')
      call.client.claimed.proof = proofOf(call.presented.assertion, liveKeys(call, now()))
    const { scope, resource } = params as { scope?: string; resource?: string | string[] }
    call.answer = await perform(call, { scope, resources: [resource].flat().filter((each) => each !== undefined) })
  }
  provider.registerGrantType(GRANT_TYPE, grant, ['scope', 'resource'], ['resource'])
  provider.on('grant.error', ({ req }, error) => {
    callOf(req).error = error
  })
  provider.on('server_error', ({ req }, error) => {
    callOf(req).error = error
  })
  const events: EventEmitter = provider
  events.on('error', (error) => log.error({ err: error }, 'oidc-provider failed'))
  provider.use(async (ctx, next) => {
    // Its URL is that of the base URL, whatever the request says about the host.
    ctx.request.originalUrl = issuer + OAUTH_PATHS.token
    await next()
  })
  const handle = provider.callback()

  return async (call) => {
    const pending: Pending = { ...call }
    const req = requestOf(call)
    calls.set(req, pending)
    await handle(req, new ServerResponse(req))
    const { answer, error } = pending
    if (answer !== undefined && error === undefined) return answer
    // What it found wrong with an assertion is for the log only: it depends on keys.
    if (error instanceof errors.InvalidClientAuth && error.error_detail !== undefined)
      contexts.explained(call.req, error.error_detail)
    throw error ?? new Error('oidc-provider has not answered')
  }
}

async function storesNothing(): Promise<never> {
  throw new Error('nothing is stored')
}

/** A user as a client, with its live keys. */
function metadataOf(id: string, call: EngineCall, now: Date) {
  const { client, presented } = call
  if (id !== client.clientId) return undefined
  const metadata = {
    client_id: id,
    grant_types: [GRANT_TYPE],
    redirect_uris: [],
    response_types: [],
  }
  if (presented.kind !== 'key') return { ...metadata, token_endpoint_auth_method: 'none' as const }
  const live = liveKeys(call, now)
  if (live.length === 0) return undefined
  return { ...metadata, token_endpoint_auth_method: 'private_key_jwt' as const, jwks: { keys: live.map(toClientJwk) } }
}

function liveKeys({ client }: EngineCall, now: Date): readonly UserKey[] {
  const { user } = client.claimed
  return user?.enabled === true ? liveCredentials(user, 'user_key', now) : []
}

/** The keys that can have verified an assertion, of which oidc-provider does not say which one it was. */
function proofOf(assertion: string, live: readonly UserKey[]): Proof {
  const { kid } = unverifiedHeader(assertion) ?? {}
  const named = live.filter((key) => typeof kid !== 'string' || kid === nameOf(key))
  return { kind: 'private_key_jwt', credentialIds: named.map(({ credentialId }) => credentialId) }
}

/** A key without `kid` gets its id as one. */
function nameOf({ credentialId, publicJwk }: UserKey): string {
  return publicJwk.kid ?? credentialId
}

function toClientJwk(userKey: UserKey) {
  const { alg, ...key } = userKey.publicJwk
  // The algorithm of Ed25519 keys has two names, and both are accepted.
  return { ...key, kid: nameOf(userKey), ...(alg === undefined || key.kty === 'OKP' ? {} : { alg }) }
}

/** The request as oidc-provider shall see it: a form, and no header that means anything else. */
function requestOf({ endpoint, form, presented, client }: EngineCall): IncomingMessage {
  const { client_secret: _secret, client_assertion: assertion, client_assertion_type: type, ...fields } = form
  // At the other endpoints it only authenticates.
  const body = stringify({
    ...(endpoint === 'token' ? fields : { grant_type: GRANT_TYPE }),
    client_id: client.clientId,
    ...(presented.kind === 'key' ? { client_assertion: assertion, client_assertion_type: type } : {}),
  })
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': String(Buffer.byteLength(body)),
  }
  const request = { method: 'POST', url: OAUTH_PATHS.token, headers, httpVersionMajor: 1, socket: {} }
  return Object.assign(Readable.from([Buffer.from(body)]), request) as unknown as IncomingMessage
}
