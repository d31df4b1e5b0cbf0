/**
 * Service users as clients of oidc-provider.
 *
 * oidc-provider needs a client object with metadata. All service users have the same metadata except for client ID, secrets and
 * keys, so one validated object is the prototype of each request's client. Known and unknown clients take the same steps, so that
 * the response time does not reveal which users exist.
 */
import { hash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Client, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Attempt, AttemptLimiter } from '../../app/access/attempt-limiter.ts'
import { splitClientId } from '../../domain/identities/client-id.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { GrantFacts, RequestContext } from '../../domain/ports/runtime.ts'
import { toTooManyFailures, toUnavailable } from '../errors.ts'
import { federatedAssertionOf } from '../federation/federated-form.ts'
import { FederatedProof, type FederatedProofOptions } from '../federation/federated-proof.ts'
import { addAssertionKeys, createDecoys } from './assertion-keys.ts'
import { type CertificateProofOptions, proveCertificate } from './certificate-proof.ts'
import {
  type Claim,
  ClaimedUser,
  type Proof,
  type ReadOptions,
  readClaimedUser,
  rememberedLookup,
} from './claimed-user.ts'
import { verifySecret } from './secret-verification.ts'

/** The user and the project that a client ID names. The user may not exist. */
interface ClaimedClient {
  readonly user: ClaimedUser
  readonly projectName: string
  readonly attempt: Attempt
}

/** A service user who has proved a credential, and the project that its client ID names. */
export interface AuthenticatedUser {
  readonly user: ServiceUser
  readonly projectName: string
}

/** What the configuration of oidc-provider needs to know about clients. */
export interface Clients {
  /** The service user of a client that oidc-provider has authenticated. */
  userOf(client: Client): AuthenticatedUser
  /** The user that a client claims to be, proved or not; undefined if there is no such user. */
  claimedUserIdOf(client: Client | undefined): string | undefined
  /** The secret that a client has proved; null if it has proved anything else. */
  secretIdOf(client: Client): string | null
  /** By what a client has authenticated. */
  credentialOf(client: Client): GrantFacts['credential']
  /** Whether the user of an authenticated client, as it is stored, is enabled and the proved credential is live. */
  isProved(client: Client, user: ServiceUser, now: Date): boolean
  /**
   * Reads the user of an authenticated client from the database, if it was only in memory. Call it before a denial.
   *
   * @throws `invalid_client` if the proved credential is not live any more; `temporarily_unavailable`.
   */
  confirm(client: Client): Promise<void>
  /** Whether the user of a client is enabled and the proved credential is live, without a read of the database. */
  mayAssert(client: Client): boolean
  /** The same for an assertion, with a read of the database before a denial. Called after the signature check. @throws `invalid_client`. */
  assertMayAssert(client: Client): Promise<void>
  /**
   * Must be called before any failed authentication is answered: reads the user from the database, so that all failures cost the
   * same, and counts the failure for the rate limit.
   *
   * @throws `temporarily_unavailable`: then the authentication has not failed.
   */
  failed(client: Client, req: IncomingMessage): Promise<void>
}

/** What authenticating clients needs. */
export interface ClientsOptions extends ReadOptions, FederatedProofOptions, CertificateProofOptions {
  readonly attempts: AttemptLimiter
  /** The time at which credentials must be live. */
  readonly now: () => Date
  readonly contexts: RequestContext
}

const CREDENTIALS: Readonly<Record<Proof['kind'], GrantFacts['credential']>> = {
  secret: 'client_secret',
  key: 'private_key_jwt',
  federated: 'federated_jwt',
  certificate: 'client_certificate',
}

const NOT_NAMED = Promise.resolve(undefined)

/** Makes oidc-provider find its clients among the service users. */
export function connectClients(provider: Provider, options: ClientsOptions): Clients {
  const { directory, attempts, now, contexts } = options
  const known = new WeakMap<Client, ClaimedClient>()
  const template = newClient(provider)
  const decoys = createDecoys()

  provider.Client.find = async (id: unknown): Promise<Client> => {
    const ctx = currentContext()
    const assertion = federatedAssertionOf(ctx.req)
    const named = assertion === undefined ? textOf(id) : assertion.clientId
    if (named !== undefined && splitClientId(named) !== undefined) contexts.identified(ctx.req, named)
    const name = named ?? hash('sha256', textOf(assertion?.jwt), 'base64url')
    const attempt: Attempt = { name, address: contexts.addressOf(ctx.req) }
    assertMayTry(ctx, attempt, attempts)

    // Without a client id, the assertion decides who the client is.
    const proof = assertion === undefined ? undefined : new FederatedProof(ctx.req, assertion, options)
    const clientId = named ?? (await available(proof?.clientId(directory) ?? NOT_NAMED)) ?? ''
    const parts = splitClientId(clientId)
    if (parts !== undefined) contexts.identified(ctx.req, clientId)
    const user =
      parts === undefined
        ? new ClaimedUser(undefined, null)
        : await findUser(ctx.req, { clientId, userId: parts.userId }, options)
    const method = authenticationMethod(ctx, options)
    const client: Client = Object.create(template, {
      clientId: { value: clientId, enumerable: true },
      tokenEndpointAuthMethod: { value: method, enumerable: true },
      // An unknown client fails here too, like one with a wrong secret.
      compareClientSecret: {
        value: (secret: string) =>
          proof === undefined ? proveSecret(user, secret, { directory, now }) : available(proof.proves(user)),
      },
    })
    if (method === 'private_key_jwt') addAssertionKeys(client, user, { decoys, now: now() })
    if (method === 'tls_client_auth') await available(proveCertificate(ctx.req, user, options))
    known.set(client, { user, projectName: parts?.projectName ?? '', attempt })
    return client
  }

  const claimedBy = (client: Client): ClaimedClient => {
    const claimed = known.get(client)
    if (claimed === undefined) throw new Error('the client was not created here')
    return claimed
  }

  return {
    userOf: (client) => {
      const { user, projectName } = claimedBy(client)
      if (user.user === undefined) throw new Error('the client has not been authenticated')
      return { user: user.user, projectName }
    },
    claimedUserIdOf: (client) => (client === undefined ? undefined : known.get(client)?.user.user?.userId),
    secretIdOf: (client) => {
      const { proof } = claimedBy(client).user
      return proof?.kind === 'secret' ? proof.secretId : null
    },
    credentialOf: (client) => CREDENTIALS[claimedBy(client).user.proof?.kind ?? 'secret'],
    isProved: (client, user, now) => claimedBy(client).user.isProvedFor(user, now),
    confirm: async (client) => {
      const { user } = claimedBy(client)
      await confirmed(user)
      if (!user.hasProved(now())) throw new errors.InvalidClientAuth('the proved credential is not live any more')
    },
    mayAssert: (client) => claimedBy(client).user.hasProved(now()),
    assertMayAssert: async (client) => {
      const { user } = claimedBy(client)
      if (!user.hasProved(now())) await confirmed(user)
      if (!user.hasProved(now()))
        throw new errors.InvalidClientAuth('the user is disabled, or the key is not live any more')
    },
    failed: async (client, req) => {
      const { user, attempt } = claimedBy(client)
      await confirmed(user)
      attempts.fail(attempt)
      contexts.refused(req, 'invalid_client')
    },
  }
}

/** Records why requests are refused, except for failed authentications: `Clients.failed` records those. */
export function recordRefusals(provider: Provider, { contexts }: Pick<ClientsOptions, 'contexts'>): void {
  provider.on('server_error', (ctx) => contexts.refused(ctx.req, 'server_error'))
  const record = (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    if (failedClient(ctx) === undefined) contexts.refused(ctx.req, error.error)
  }
  provider.on('grant.error', record)
  // A request about a JWT is not refused, see `jwt-requests.ts`.
  const recordUnlessJwt = (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    if (!(error instanceof errors.UnsupportedTokenType)) record(ctx, error)
  }
  provider.on('introspection.error', recordUnlessJwt)
  provider.on('revocation.error', recordUnlessJwt)
}

/** The client of a request that failed to authenticate. oidc-provider sets it only if the rate limit admitted the attempt. */
export function failedClient({ status, oidc }: Pick<KoaContextWithOIDC, 'status'> & Partial<KoaContextWithOIDC>) {
  return status === 401 ? oidc?.entities.Client : undefined
}

/** The types say string, but the subject of an assertion can be any JSON value. */
function textOf(id: unknown): string {
  return typeof id === 'string' ? id : ''
}

/** The request that is being answered. */
function currentContext(): KoaContextWithOIDC {
  const ctx = Provider.ctx
  if (ctx === undefined) throw new Error('there is no request')
  return ctx
}

function assertMayTry(ctx: KoaContextWithOIDC, attempt: Attempt, attempts: AttemptLimiter): void {
  const seconds = attempts.blockedForSeconds(attempt)
  if (seconds === 0) return
  ctx.set('retry-after', String(seconds))
  throw toTooManyFailures()
}

/**
 * A service user may use any of its credentials, so the request decides the method. oidc-provider has refused two at once. For it all
 * certificates are of `tls_client_auth`.
 */
function authenticationMethod(
  { oidc: { params }, headers }: KoaContextWithOIDC,
  { certificates }: Pick<ClientsOptions, 'certificates'>,
): 'private_key_jwt' | 'client_secret_basic' | 'tls_client_auth' {
  if (params?.client_assertion) return 'private_key_jwt'
  const hasSecret = Boolean(params?.client_secret) || headers.authorization !== undefined
  return hasSecret || certificates === undefined ? 'client_secret_basic' : 'tls_client_auth'
}

async function findUser(req: IncomingMessage, claim: Claim, options: ReadOptions): Promise<ClaimedUser> {
  const read = () => readClaimedUser(req, claim, options)
  const before = rememberedLookup(req, claim.userId)
  if (before !== undefined) return new ClaimedUser(before.user, null)
  const inMemory = options.directory.recallServiceUser(claim.userId)
  const user = new ClaimedUser(inMemory, read)
  if (inMemory === undefined) await confirmed(user)
  return user
}

/** @throws `temporarily_unavailable`. */
function confirmed(user: ClaimedUser): Promise<void> {
  return available(user.confirm())
}

/** @throws `temporarily_unavailable`. */
async function available<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw toUnavailable(error)
  }
}

async function proveSecret(
  claimed: ClaimedUser,
  secret: string,
  { directory, now }: Pick<ClientsOptions, 'directory' | 'now'>,
): Promise<boolean> {
  const verify = () => verifySecret(directory.secrets, claimed.user, { secret, now: now() })
  let verified = verify()
  if (verified === undefined && !claimed.isConfirmed) {
    await confirmed(claimed)
    verified = verify()
  }
  if (verified !== undefined) claimed.proof = { kind: 'secret', secretId: verified.secretId }
  return verified !== undefined
}

function newClient(provider: Provider): Client {
  // The published types omit the constructor, which validates the metadata.
  const Client = provider.Client as unknown as new (metadata: Record<string, unknown>) => Client
  return new Client({
    client_id: 'service-user',
    // Required, but never compared: see `compareClientSecret` above.
    client_secret: randomBytes(32).toString('base64url'),
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  })
}
