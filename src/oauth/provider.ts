/**
 * Configures oidc-provider for one key ring.
 *
 * The keys of a provider cannot change, so each key ring has its own; `token-service.ts` replaces it.
 */
import type { EventEmitter } from 'node:events'
import {
  type Adapter,
  type AdapterPayload,
  type Client,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider'
import type { AttemptLimiter } from '../app/access/attempt-limiter.ts'
import type { Dpop } from '../app/access/dpop.ts'
import type { Introspection } from '../app/access/introspection.ts'
import type { AuditTrail } from '../app/audit/audit-trail.ts'
import type { SecretUses } from '../app/identities/secret-uses.ts'
import type { TokenRevocations } from '../app/identities/token-revocations.ts'
import { RETRY_AFTER_SECONDS } from '../domain/errors.ts'
import type { PresentedCertificate } from '../domain/identities/token-binding.ts'
import { ASSERTION_ALGORITHMS } from '../domain/keys/assertion-algorithm.ts'
import { KEY_ALGORITHM_NAMES } from '../domain/keys/key-algorithm.ts'
import type { KeyRing } from '../domain/keys/key-ring.ts'
import type { Signer } from '../domain/ports/keys.ts'
import type { CredentialUses } from '../domain/ports/records.ts'
import type { Log, RequestContext } from '../domain/ports/runtime.ts'
import type { ClientCertificateVerifier } from '../domain/ports/verification.ts'
import {
  type AssertionAudience,
  assertAssertionClaims,
  assertAssertionHeader,
  describeAssertionErrors,
  PROVIDER_TOLERANCE_SECONDS,
  preventReplay,
} from './client-authentication/assertions.ts'
import { auditFailure } from './client-authentication/audit-failure.ts'
import type { ClientDirectory } from './client-authentication/claimed-user.ts'
import { type Clients, connectClients, failedClient, recordRefusals } from './client-authentication/clients.ts'
import { delayRefusal, startAuthentication } from './client-authentication/constant-time-refusal.ts'
import { inKeySetOrder } from './documents/jwks.ts'
import { CLIENT_AUTHENTICATION_METHODS, MTLS_AUTHENTICATION_METHODS, OAUTH_PATHS } from './endpoints.ts'
import { challengeFor, TOO_MANY_FAILURES, UNAVAILABLE } from './errors.ts'
import { hideFederatedAssertion } from './federation/federated-form.ts'
import type { Federation } from './federation/federated-proof.ts'
import { connectIntrospection } from './issued-tokens/introspection.ts'
import { type AnswerJwtRequest, answerOrRefuse } from './issued-tokens/jwt-requests.ts'
import { connectRevocation } from './issued-tokens/revocation.ts'
import { PublishedKey } from './published-key.ts'
import { formRefusalOf, limitForm } from './token/form-body.ts'
import { bindToKey, certificateConfirmation } from './token/sender-constraint.ts'
import { TokenPolicy } from './token/token-policy.ts'

/** What all providers of a process share. */
export interface ProviderOptions {
  /** The base URL, without a slash at its end. */
  readonly issuer: string
  readonly tokenLifetimeSeconds: number
  /** Undefined: certificates of clients do not count (RFC 8705). */
  readonly certificates?: ClientCertificateVerifier
  /** Whether scopes of ZITADEL are understood, and discovery has what its clients need. */
  readonly acceptsZitadelScopes: boolean
  /** The accepted audience of client assertions. */
  readonly assertionAudience: AssertionAudience
  /** The service's clock, for the dates of tokens and the expiry of credentials. */
  readonly now: () => Date
  readonly directory: ClientDirectory
  /** The trusted issuers, and what verifies their JWTs. */
  readonly federation: Federation
  /** Replay protection of client assertions over all replicas. */
  readonly assertions: Pick<CredentialUses, 'useAssertionOnce'>
  /** Verifies DPoP proofs. */
  readonly dpop: Pick<Dpop, 'verify' | 'useOnce'>
  /** The rate limit of failed authentications. */
  readonly attempts: AttemptLimiter
  /** Records when each secret was last used. */
  readonly secretUses: Pick<SecretUses, 'note'>
  readonly introspection: Pick<Introspection, 'introspect'>
  readonly revocations: Pick<TokenRevocations, 'revoke'>
  /** Records failed authentications of existing users. */
  readonly audit: Pick<AuditTrail, 'refuse'>
  readonly contexts: RequestContext
  readonly log: Log
}

const CORS_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers']

/** Makes a provider that publishes all keys of the ring and signs with the active one. @param signer Of the active key. */
export function createProvider(ring: KeyRing, signer: Signer, options: ProviderOptions): Provider {
  // The configuration needs the policy, which needs the clients, which need the provider.
  let clients: Clients | undefined
  const connected = (): Clients => {
    if (clients === undefined) throw new Error('the clients are not connected yet')
    return clients
  }
  const policy = new TokenPolicy({
    issuer: options.issuer,
    tokenLifetimeSeconds: options.tokenLifetimeSeconds,
    now: options.now,
    acceptsZitadelScopes: options.acceptsZitadelScopes,
    signingKey: signer.key,
    userOf: (client) => connected().userOf(client),
    confirm: (client) => connected().confirm(client),
    contexts: options.contexts,
  })
  const provider = new Provider(options.issuer, {
    ...configuration(ring, signer, policy, { ...options, hasProved: (client) => connected().mayAssert(client) }),
    assertJwtClientAuthClaimsAndHeader: async (ctx, claims, header, client) => {
      // First: a disabled user learns nothing about claims.
      await connected().assertMayAssert(client)
      assertAssertionHeader(ctx.oidc.params?.client_assertion, header)
      assertAssertionClaims(claims, { ...options, now: options.now() })
    },
  })
  clients = connectClients(provider, options)
  recordRefusals(provider, options)
  describeAssertionErrors(provider, { ...options, mayAssert: (client) => connected().mayAssert(client) })
  preventReplay(provider, options.assertions)
  const answers: Readonly<Record<string, AnswerJwtRequest>> = {
    introspection: connectIntrospection(provider, { ...options, clients: connected }),
    revocation: connectRevocation(provider, { ...options, clients: connected }),
  }
  const noteSecretUse = ({ oidc: { client } }: KoaContextWithOIDC): void => {
    const secretId = client === undefined ? null : connected().secretIdOf(client)
    if (secretId !== null) options.secretUses.note(secretId, options.now())
  }
  provider.on('grant.success', (ctx) => {
    noteSecretUse(ctx)
    const { client } = ctx.oidc
    if (client === undefined) return
    const binding = policy.bindingOf(ctx) ?? 'none'
    options.contexts.granted(ctx.req, { credential: connected().credentialOf(client), binding })
  })

  provider.use(async (ctx, next) => {
    startAuthentication(ctx.req)
    limitForm(ctx.req)
    hideFederatedAssertion(ctx.req)
    await next()
    const request = ctx as typeof ctx & Partial<KoaContextWithOIDC>
    const answer = request.oidc === undefined ? undefined : answers[request.oidc.route]
    if (answer !== undefined) {
      const answered = request as KoaContextWithOIDC
      await answerOrRefuse(answered, answer, options)
      if (ctx.status === 200) noteSecretUse(answered)
    }
    // oidc-provider sends a challenge only for HTTP Basic, but every 401 must have one (RFC 9110 §15.5.2).
    if (ctx.status === 401 && !ctx.res.hasHeader('www-authenticate')) {
      ctx.set('www-authenticate', challengeFor(options.issuer))
    }
    const failed = failedClient(ctx)
    if (failed !== undefined) await refuseInConstantTime(ctx, () => connected().failed(failed, ctx.req), options)
    const userId = ctx.status === 401 ? connected().claimedUserIdOf(failed) : undefined
    // After the response, which is sent in this turn of the event loop: its time must not reveal whether the user exists.
    if (userId !== undefined) setImmediate(() => auditFailure(ctx.req, userId, options))
    const unread = formRefusalOf(ctx.req)
    if (unread !== undefined) {
      ctx.status = unread.status
      ctx.body = { error: 'invalid_request', error_description: unread.description }
    }
    if (ctx.status === 429) ctx.body = TOO_MANY_FAILURES
    if (ctx.status === 503) ctx.set('retry-after', String(RETRY_AFTER_SECONDS))
    // oidc-provider leaves it out at the revocation endpoint.
    ctx.set('cache-control', 'no-store')
    // oidc-provider allows any origin to read a response. No page should have a client secret.
    for (const name of CORS_HEADERS) ctx.remove(name)
  })
  // Otherwise Koa prints errors to the console.
  provider.silent = true
  provider.on('server_error', (_ctx, error) => options.log.error({ err: error }, 'a token request failed'))
  const events: EventEmitter = provider
  events.on('error', (error) => {
    // A client could fill the log with aborted requests.
    if (!isAborted(error)) options.log.error({ err: error }, 'a token request failed')
  })
  return provider
}

/** Delays the response to a failed authentication; makes it a 503 if the user cannot be read. */
async function refuseInConstantTime(
  ctx: Pick<KoaContextWithOIDC, 'req' | 'status' | 'body' | 'remove'>,
  failed: () => Promise<void>,
  { contexts, log }: ProviderOptions,
): Promise<void> {
  try {
    await failed()
    await delayRefusal(ctx.req)
  } catch (error) {
    if (!(error instanceof errors.TemporarilyUnavailable)) log.error({ err: error }, 'a token request failed')
    ctx.remove('www-authenticate')
    ctx.status = 503
    ctx.body = UNAVAILABLE
    contexts.refused(ctx.req, UNAVAILABLE.error)
  }
}

/** Whether the client aborted the request or violated the protocol. */
function isAborted(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return error.message === 'aborted' || /^(ECONNRESET|EPIPE|HPE_|ERR_HTTP|ERR_STREAM|ETIMEDOUT)/.test(code)
}

/** What the configuration needs to know besides. */
interface ConfigurationOptions extends ProviderOptions {
  /** Whether a client has proved who it is. */
  readonly hasProved: (client: Client) => boolean
}

function configuration(
  ring: KeyRing,
  signer: Signer,
  policy: TokenPolicy,
  { tokenLifetimeSeconds, dpop, certificates, contexts, hasProved }: ConfigurationOptions,
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
    clientAuthMethods: [
      ...CLIENT_AUTHENTICATION_METHODS,
      ...(certificates === undefined ? [] : MTLS_AUTHENTICATION_METHODS),
    ],
    clockTolerance: PROVIDER_TOLERANCE_SECONDS,
    routes: {
      token: OAUTH_PATHS.token,
      introspection: OAUTH_PATHS.introspection,
      revocation: OAUTH_PATHS.revocation,
      jwks: OAUTH_PATHS.jwks,
    },
    scopes: [],
    // Otherwise the authorization code grant exists too, and is refused as `invalid_request`.
    responseTypes: [],
    // JSON regardless of `Accept`.
    renderError: (ctx, out) => {
      ctx.body = out
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      // Not the provider's own, which goes by the clock of the machine: `token/sender-constraint.ts` (decision 29).
      dPoP: { enabled: false },
      // It stores no tokens, so it finds none. For JWTs see `jwt-requests.ts`.
      introspection: { enabled: true, allowedPolicy: () => false },
      revocation: { enabled: true, allowedPolicy: () => false },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      resourceIndicators: {
        enabled: true,
        defaultResource: policy.defaultResource,
        getResourceServerInfo: policy.resourceServerInfo,
      },
      // The certificate has been verified when the client was found: `client-authentication/certificate-proof.ts`.
      mTLS: {
        enabled: certificates !== undefined,
        tlsClientAuth: true,
        selfSignedTlsClientAuth: true,
        getCertificate: ({ req }) => base64DerOf(contexts.certificateOf(req)),
        certificateAuthorized: ({ oidc: { client } }) => client !== undefined && hasProved(client),
        // Not called: no client has a name of its own.
        certificateSubjectMatches: () => false,
      },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    ttl: { ClientCredentials: (_ctx, token) => token.resourceServer?.accessTokenTTL ?? tokenLifetimeSeconds },
    formats: {
      customizers: {
        jwt: async (ctx, token, { payload }) => {
          policy.customizeClaims(ctx, { payload })
          const binding = policy.bindingOf(ctx)
          if (binding === 'certificate') payload.cnf = certificateConfirmation(contexts.certificateOf(ctx.req))
          if (binding === 'dpop') await bindToKey(ctx, token, { payload, dpop })
        },
      },
    },
  }
}

/** oidc-provider makes the thumbprint of it, and does not need the first and last line of PEM. */
function base64DerOf(certificate: PresentedCertificate): string | undefined {
  if (certificate.kind !== 'presented') return undefined
  const [der = new Uint8Array()] = certificate.chain
  return Buffer.from(der).toString('base64')
}

/** Access tokens are JWTs, the only thing that is issued, so there is nothing to store. */
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
