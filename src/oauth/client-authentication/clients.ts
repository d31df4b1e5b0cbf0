/**
 * Service users as the clients of the engine.
 *
 * The engine wants a client object with its own metadata for each client. All service users have the same, but for the
 * client ID, the secrets and the keys, so one object is made in the engine's way and each request gets one derived from
 * it. Known and unknown clients take the same steps, so that the time of an answer does not tell which user exists.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Client, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Attempt, AttemptLimiter } from '../../app/access/attempt-limiter.ts'
import { splitClientId } from '../../domain/identities/client-id.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { RequestContext } from '../../domain/ports.ts'
import { toTooManyFailures, toUnavailable } from '../errors.ts'
import { addAssertionKeys, createDecoys } from './assertion-keys.ts'
import { foundBefore } from './found-user.ts'
import { type LookUpOptions, type Named, NamedUser, readNamed } from './named-user.ts'
import { matchingSecret } from './secret-match.ts'

/** A client of the engine: the user that its client ID names, who may not exist, and the project. */
interface NamedClient {
  readonly user: NamedUser
  readonly projectName: string
}

/** A service user who has proved a credential, with the project that its client ID names. */
export interface AuthenticatedUser {
  readonly user: ServiceUser
  readonly projectName: string
}

/** What the rest of the engine asks about clients. */
export interface Clients {
  /** The service user behind a client that the engine has authenticated. */
  userOf(client: Client): AuthenticatedUser
  /** The user whom a client claims to be, proved or not; undefined if there is no such user. */
  claimedUserIdOf(client: Client | undefined): string | undefined
  /** The secret that a client has proved; null if it was something else. */
  secretIdOf(client: Client): string | null
  /**
   * Has the user of an authenticated client read from the database, if it was only in memory, before it is denied something.
   *
   * @throws `invalid_client` if what it has proved is not there any more; `temporarily_unavailable`.
   */
  confirm(client: Client): Promise<void>
  /** Whether the user of a client may use what it has proved, as far as is known without asking the database. */
  mayAssert(client: Client): boolean
  /** Checks that the user whose key has signed an assertion may use it. Called after the signature, like a secret. */
  assertMayAssert(client: Client): Promise<void>
  /**
   * Must be called before an authentication is answered as failed, whatever it failed for: it makes all of them cost the same
   * look at the database, counts them, and notes them.
   *
   * @throws `temporarily_unavailable`: then it has not failed.
   */
  failed(client: Client, req: IncomingMessage): Promise<void>
}

/** What this file needs. */
export interface ClientsOptions extends LookUpOptions {
  readonly attempts: AttemptLimiter
  /** The time at which credentials are looked at. */
  readonly now: () => Date
  readonly notes: RequestContext
}

/** Makes the engine find its clients among the service users. */
export function connectClients(provider: Provider, options: ClientsOptions): Clients {
  const { directory, attempts, now, notes } = options
  const known = new WeakMap<Client, NamedClient>()
  const template = newClient(provider)
  const decoys = createDecoys()

  // The types promise a text, but this is also called with the subject of an assertion, which can be anything.
  provider.Client.find = async (named: unknown): Promise<Client> => {
    const clientId = typeof named === 'string' ? named : ''
    const ctx = currentContext()
    const parts = splitClientId(clientId)
    if (parts !== undefined) notes.identified(ctx.req, clientId)
    assertMayTry(ctx, { name: clientId, address: notes.addressOf(ctx.req) }, attempts)

    const user =
      parts === undefined
        ? new NamedUser(undefined, null)
        : await findUser(ctx.req, { clientId, userId: parts.userId }, options)
    const method = authenticationMethod(ctx)
    const client: Client = Object.create(template, {
      clientId: { value: clientId, enumerable: true },
      tokenEndpointAuthMethod: { value: method, enumerable: true },
      // An unknown client gets this far too, and fails here like one with a wrong secret.
      compareClientSecret: { value: (secret: string) => proveSecret(user, secret, { directory, now }) },
    })
    if (method === 'private_key_jwt') addAssertionKeys(client, user, { decoys, now: now() })
    known.set(client, { user, projectName: parts?.projectName ?? '' })
    return client
  }

  const namedBy = (client: Client): NamedClient => {
    const named = known.get(client)
    if (named === undefined) throw new Error('the client is none of ours')
    return named
  }

  return {
    userOf: (client) => {
      const { user, projectName } = namedBy(client)
      if (user.user === undefined) throw new Error('the client has not been authenticated')
      return { user: user.user, projectName }
    },
    claimedUserIdOf: (client) => (client === undefined ? undefined : known.get(client)?.user.user?.userId),
    secretIdOf: (client) => {
      const { proof } = namedBy(client).user
      return proof?.kind === 'secret' ? proof.secretId : null
    },
    confirm: async (client) => {
      const { user } = namedBy(client)
      await confirmed(user)
      if (!user.hasProved(now())) throw new errors.InvalidClientAuth('what was proved is not there any more')
    },
    mayAssert: (client) => namedBy(client).user.hasProved(now()),
    assertMayAssert: async (client) => {
      const { user } = namedBy(client)
      if (!user.hasProved(now())) await confirmed(user)
      if (!user.hasProved(now())) throw new errors.InvalidClientAuth('the user is disabled, or a key is gone')
    },
    failed: async (client, req) => {
      await confirmed(namedBy(client).user)
      attempts.fail({ name: client.clientId, address: notes.addressOf(req) })
      notes.refused(req, 'invalid_client')
    },
  }
}

/** Notes why requests are refused, but for failed authentications, which may turn out to be none. */
export function noteRefusals(provider: Provider, { notes }: Pick<ClientsOptions, 'notes'>): void {
  provider.on('server_error', (ctx) => notes.refused(ctx.req, 'server_error'))
  provider.on('grant.error', (ctx, error) => {
    if (failedClient(ctx) === undefined) notes.refused(ctx.req, error.error)
  })
}

/** The client of a request that has failed to authenticate. The engine names it only once it was allowed to try. */
export function failedClient({ status, oidc }: Pick<KoaContextWithOIDC, 'status'> & Partial<KoaContextWithOIDC>) {
  return status === 401 ? oidc?.entities.Client : undefined
}

/** The request that is being answered. */
function currentContext(): KoaContextWithOIDC {
  const ctx = Provider.ctx
  if (ctx === undefined) throw new Error('clients are only known to requests')
  return ctx
}

function assertMayTry(ctx: KoaContextWithOIDC, attempt: Attempt, attempts: AttemptLimiter): void {
  const seconds = attempts.blockedForSeconds(attempt)
  if (seconds === 0) return
  ctx.set('retry-after', String(seconds))
  throw toTooManyFailures()
}

/**
 * A service user may use any of its credentials, so its method is the one that the request uses. The engine has refused
 * requests that use two.
 */
function authenticationMethod({ oidc }: KoaContextWithOIDC): 'private_key_jwt' | 'client_secret_basic' {
  return oidc.params?.client_assertion ? 'private_key_jwt' : 'client_secret_basic'
}

async function findUser(req: IncomingMessage, named: Named, options: LookUpOptions): Promise<NamedUser> {
  const read = () => readNamed(req, named, options)
  const before = foundBefore(req, named.userId)
  if (before !== undefined) return new NamedUser(before.user, null)
  const inMemory = options.directory.recallServiceUser(named.userId)
  const user = new NamedUser(inMemory, read)
  if (inMemory === undefined) await confirmed(user)
  return user
}

/** @throws `temporarily_unavailable`. */
async function confirmed(user: NamedUser): Promise<void> {
  try {
    await user.confirm()
  } catch (error) {
    throw toUnavailable(error)
  }
}

async function proveSecret(
  named: NamedUser,
  secret: string,
  { directory, now }: Pick<ClientsOptions, 'directory' | 'now'>,
): Promise<boolean> {
  const prove = () => matchingSecret(directory.secrets, named.user, { secret, now: now() })
  let proved = prove()
  if (proved === undefined && !named.isConfirmed) {
    await confirmed(named)
    proved = prove()
  }
  if (proved !== undefined) named.proof = { kind: 'secret', secretId: proved.secretId }
  return proved !== undefined
}

function newClient(provider: Provider): Client {
  // The published types leave the constructor out. It validates the metadata like any other client's.
  const Client = provider.Client as unknown as new (metadata: Record<string, unknown>) => Client
  return new Client({
    client_id: 'service-user',
    // The engine asks for a secret here. Nothing compares with it: see `compareClientSecret` above.
    client_secret: randomBytes(32).toString('base64url'),
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  })
}
