/**
 * Configures oidc-provider for one key ring.
 *
 * An engine's keys cannot change, so there is one engine for each key ring; `token-service.ts` swaps them.
 */
import type { EventEmitter } from 'node:events'
import {
  type Adapter,
  type AdapterPayload,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider'
import type { AttemptLimiter } from '../app/access/attempt-limiter.ts'
import type { AuditTrail } from '../app/audit/audit-trail.ts'
import type { SecretUses } from '../app/identities/secret-uses.ts'
import { RETRY_AFTER_SECONDS } from '../domain/errors.ts'
import { KEY_ALGORITHM_NAMES } from '../domain/keys/key-algorithm.ts'
import type { KeyRing } from '../domain/keys/key-ring.ts'
import type { CredentialUses, Log, RequestContext, Signer } from '../domain/ports.ts'
import {
  ASSERTION_ALGORITHMS,
  type AssertionAudience,
  assertAssertionClaims,
  assertAssertionHeader,
  ENGINE_TOLERANCE_SECONDS,
  tellProblems,
  useAssertionsOnce,
} from './client-authentication/assertions.ts'
import { type Clients, connectClients, failedClient, noteRefusals } from './client-authentication/clients.ts'
import { beginAuthentication, untilFailureMayBeTold } from './client-authentication/constant-time-refusal.ts'
import { writeDownFailure } from './client-authentication/failed-authentications.ts'
import type { ClientDirectory } from './client-authentication/named-user.ts'
import { inKeySetOrder } from './documents/jwks.ts'
import { CLIENT_AUTHENTICATION_METHODS, OAUTH_PATHS } from './endpoints.ts'
import { challengeFor, TOO_MANY_FAILURES, UNAVAILABLE } from './errors.ts'
import { PublishedKey } from './published-key.ts'
import { limitFields } from './token/form-fields.ts'
import { TokenPolicy } from './token/token-policy.ts'

/** What is the same for every engine of a process. */
export interface ProviderOptions {
  /** The base URL, without a slash at its end. */
  readonly issuer: string
  readonly tokenLifetimeSeconds: number
  /** Which audience client assertions must have. */
  readonly assertionAudience: AssertionAudience
  /** The time that dates tokens and ends credentials. */
  readonly now: () => Date
  readonly directory: ClientDirectory
  /** Keeps client assertions from being used twice, in all replicas. */
  readonly assertions: Pick<CredentialUses, 'useAssertionOnce'>
  /** One for the process, so that a new key ring forgets no failures. */
  readonly attempts: AttemptLimiter
  /** Hears of each secret that got a token. */
  readonly secretUses: Pick<SecretUses, 'note'>
  /** Hears of each failed authentication of a user who exists. */
  readonly audit: Pick<AuditTrail, 'refuse'>
  /** Knows where requests come from, and hears who makes them and why they are refused. */
  readonly notes: RequestContext
  readonly log: Log
}

const CORS_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers']

/** Makes an engine that publishes all keys of the ring and signs with the signer's, which is the active one. */
export function createProvider(ring: KeyRing, signer: Signer, options: ProviderOptions): Provider {
  // The policy is part of the configuration and needs the clients, which need the provider.
  let clients: Clients | undefined
  const connected = (): Clients => {
    if (clients === undefined) throw new Error('no client can have been authenticated yet')
    return clients
  }
  const policy = new TokenPolicy({
    issuer: options.issuer,
    tokenLifetimeSeconds: options.tokenLifetimeSeconds,
    now: options.now,
    signingKey: signer.key,
    userOf: (client) => connected().userOf(client),
    confirm: (client) => connected().confirm(client),
  })
  const provider = new Provider(options.issuer, {
    ...configuration(ring, signer, policy, options),
    assertJwtClientAuthClaimsAndHeader: async (ctx, claims, header, client) => {
      // First: who may not assert is not told about claims.
      await connected().assertMayAssert(client)
      assertAssertionHeader(ctx.oidc.params?.client_assertion, header)
      assertAssertionClaims(claims, { ...options, now: options.now() })
    },
  })
  clients = connectClients(provider, options)
  noteRefusals(provider, options)
  tellProblems(provider, { ...options, mayAssert: (client) => connected().mayAssert(client) })
  useAssertionsOnce(provider, options.assertions)
  provider.on('grant.success', (ctx) => {
    const client = ctx.oidc.client
    const secretId = client === undefined ? null : connected().secretIdOf(client)
    if (secretId !== null) options.secretUses.note(secretId, options.now())
  })

  provider.use(async (ctx, next) => {
    beginAuthentication(ctx.req)
    limitFields(ctx.req)
    await next()
    // The engine challenges only those who tried HTTP Basic. A 401 always has a challenge (RFC 9110 §15.5.2).
    if (ctx.status === 401 && !ctx.res.hasHeader('www-authenticate')) {
      ctx.set('www-authenticate', challengeFor(options.issuer))
    }
    const failed = failedClient(ctx)
    if (failed !== undefined) await answerFailure(ctx, () => connected().failed(failed, ctx.req), options)
    const userId = ctx.status === 401 ? connected().claimedUserIdOf(failed) : undefined
    // Behind the answer, which goes out before this turn of the event loop ends: its time must not tell who exists.
    if (userId !== undefined) setImmediate(() => writeDownFailure(ctx.req, userId, options))
    if (ctx.status === 429) ctx.body = TOO_MANY_FAILURES
    if (ctx.status === 503) ctx.set('retry-after', String(RETRY_AFTER_SECONDS))
    // The engine lets pages of any origin read an answer. No page should have a client secret.
    for (const name of CORS_HEADERS) ctx.remove(name)
  })
  // Without this Koa prints errors of its own to the console.
  provider.silent = true
  provider.on('server_error', (_ctx, error) => options.log.error({ err: error }, 'a token request failed'))
  const events: EventEmitter = provider
  events.on('error', (error) => {
    // Anybody could fill the log with requests that break off.
    if (!isBrokenOff(error)) options.log.error({ err: error }, 'a token request failed')
  })
  return provider
}

/** Lets the answer to a failed authentication go, or says instead that it cannot be known. */
async function answerFailure(
  ctx: Pick<KoaContextWithOIDC, 'req' | 'status' | 'body' | 'remove'>,
  failed: () => Promise<void>,
  { notes, log }: ProviderOptions,
): Promise<void> {
  try {
    await failed()
    await untilFailureMayBeTold(ctx.req)
  } catch (error) {
    if (!(error instanceof errors.TemporarilyUnavailable)) log.error({ err: error }, 'a token request failed')
    ctx.remove('www-authenticate')
    ctx.status = 503
    ctx.body = UNAVAILABLE
    notes.refused(ctx.req, UNAVAILABLE.error)
  }
}

/** Whether the client has gone away or broken its protocol in the middle of a request. */
function isBrokenOff(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return error.message === 'aborted' || /^(ECONNRESET|EPIPE|HPE_|ERR_HTTP|ERR_STREAM|ETIMEDOUT)/.test(code)
}

function configuration(
  ring: KeyRing,
  signer: Signer,
  policy: TokenPolicy,
  { tokenLifetimeSeconds }: ProviderOptions,
): Configuration {
  return {
    adapter: NoStorage,
    jwks: {
      keys: inKeySetOrder(ring).map((key) => new PublishedKey(key, key.keyId === signer.key.keyId ? signer : null)),
    },
    // Every client fails with `invalid_client_metadata` if no key of the ring fits this default.
    clientDefaults: { id_token_signed_response_alg: signer.key.algorithm },
    enabledJWA: {
      idTokenSigningAlgValues: [...KEY_ALGORITHM_NAMES],
      clientAuthSigningAlgValues: [...ASSERTION_ALGORITHMS],
    },
    clientAuthMethods: CLIENT_AUTHENTICATION_METHODS,
    clockTolerance: ENGINE_TOLERANCE_SECONDS,
    routes: { token: OAUTH_PATHS.token, jwks: OAUTH_PATHS.jwks },
    scopes: [],
    // Otherwise the engine has the authorization code grant too, and refuses it as `invalid_request`.
    responseTypes: [],
    // Machines get JSON whatever they say they accept.
    renderError: (ctx, out) => {
      ctx.body = out
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      resourceIndicators: {
        enabled: true,
        defaultResource: policy.defaultResource,
        getResourceServerInfo: policy.resourceServerInfo,
      },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    ttl: { ClientCredentials: tokenLifetimeSeconds },
    formats: { customizers: { jwt: (ctx, _token, draft) => policy.customizeClaims(ctx, draft) } },
  }
}

/** Access tokens are JWTs and nothing else is issued, so the engine has nothing to store. */
class NoStorage implements Adapter {
  async find(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async consume(): Promise<undefined> {}
  async destroy(): Promise<undefined> {}
  async revokeByGrantId(): Promise<undefined> {}
  async upsert(_id: string, _payload: AdapterPayload): Promise<undefined> {
    throw new Error('tokens are not stored')
  }
}
