/**
 * oidc-provider, which authenticates a client by its own assertion (`private_key_jwt`).
 *
 * It is used by its documented options: an adapter, a clock tolerance and a registered grant type, at which its part of the work ends. It
 * issues and stores nothing.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { type IncomingMessage, ServerResponse } from 'node:http'
import { stringify } from 'node:querystring'
import { Readable } from 'node:stream'
import { type Adapter, Provider } from 'oidc-provider'
import { liveCredentials, type UserKey } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import { ASSERTION_ALGORITHMS } from '../../domain/keys/assertion-algorithm.ts'
import type { CredentialUses } from '../../domain/ports/records.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { invalidClient } from '../requests/answers.ts'
import { OAUTH_PATHS } from '../requests/endpoints.ts'
import { unverifiedHeader } from '../requests/form.ts'
import { CLOCK_TOLERANCE_SECONDS } from './assertion-rules.ts'
import type { Proof } from './claimed-user.ts'

export interface AssertionEngineOptions {
  readonly issuer: string
  /** Replay protection over all replicas. */
  readonly assertions: Pick<CredentialUses, 'useAssertionOnce'>
  readonly now: () => Date
  readonly log: Log
}

export interface AssertedClient {
  readonly clientId: string
  readonly user: ServiceUser | undefined
  readonly assertion: string
}

/** Proves a client. @throws what refuses it. */
export type AssertionEngine = (client: AssertedClient) => Promise<Proof>

const GRANT_TYPE = 'client_credentials'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** A client that oidc-provider is looking at, and how that ends. */
interface Pending {
  readonly clientId: string
  readonly keys: readonly UserKey[]
  isProved: boolean
  error?: unknown
}

export function createAssertionEngine({ issuer, assertions, now, log }: AssertionEngineOptions): AssertionEngine {
  const calls = new WeakMap<object, Pending>()
  const callOf = (req: object | undefined): Pending => {
    const call = req === undefined ? undefined : calls.get(req)
    if (call === undefined) throw new Error('the request does not come from here')
    return call
  }
  const adapters: Readonly<Record<string, Pick<Adapter, 'find' | 'upsert'>>> = {
    Client: { find: async (id) => metadataOf(id, callOf(Provider.ctx?.req)), upsert: storesNothing },
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
    clientAuthMethods: ['private_key_jwt'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    routes: { token: OAUTH_PATHS.token },
    scopes: [],
    responseTypes: [],
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
  })
  provider.registerGrantType(GRANT_TYPE, async ({ req }: { req: object }) => {
    callOf(req).isProved = true
  })
  const fail = ({ req }: { req: object }, error: unknown): void => {
    callOf(req).error = error
  }
  provider.on('grant.error', fail)
  provider.on('server_error', fail)
  const events: EventEmitter = provider
  events.on('error', (error) => log.error({ err: error }, 'oidc-provider failed'))
  provider.use(async (ctx, next) => {
    // Its URL is that of the base URL, whatever the request says about the host.
    ctx.request.originalUrl = issuer + OAUTH_PATHS.token
    await next()
  })
  const handle = provider.callback()

  return async ({ clientId, user, assertion }) => {
    const keys = user?.enabled === true ? liveCredentials(user, 'user_key', now()) : []
    const pending: Pending = { clientId, keys, isProved: false }
    const req = requestOf(clientId, assertion)
    calls.set(req, pending)
    await handle(req, new ServerResponse(req))
    const { isProved, error } = pending
    if (!isProved || error !== undefined) throw error ?? new Error('oidc-provider has not answered')
    return proofOf(assertion, keys)
  }
}

async function storesNothing(): Promise<never> {
  throw new Error('nothing is stored')
}

/** A user as a client, with its live keys. */
function metadataOf(id: string, { clientId, keys }: Pending) {
  if (id !== clientId || keys.length === 0) return undefined
  return {
    client_id: id,
    grant_types: [GRANT_TYPE],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: 'private_key_jwt' as const,
    jwks: { keys: keys.map(toClientJwk) },
  }
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

/** A request that only authenticates. */
function requestOf(clientId: string, assertion: string): IncomingMessage {
  const body = stringify({
    grant_type: GRANT_TYPE,
    client_id: clientId,
    client_assertion: assertion,
    client_assertion_type: ASSERTION_TYPE,
  })
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': String(Buffer.byteLength(body)),
  }
  const request = { method: 'POST', url: OAUTH_PATHS.token, headers, httpVersionMajor: 1, socket: {} }
  return Object.assign(Readable.from([Buffer.from(body)]), request) as unknown as IncomingMessage
}
