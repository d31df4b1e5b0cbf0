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
import type { Attempt, AttemptLimiter } from '../app/attempt-limiter.ts'
import { splitClientId } from '../domain/client-id.ts'
import type { ClientSecrets, RequestNotes } from '../domain/ports.ts'
import type { ServiceUser } from '../domain/service-user.ts'
import { addAssertionKeys, createDecoys } from './assertion-keys.ts'
import { toTooManyFailures, toUnavailable } from './errors.ts'
import { foundBefore } from './found-user.ts'
import { provedSecret } from './proved-secret.ts'

/** What the engine's clients are made from. */
export interface ClientDirectory {
  findServiceUser(userId: string): Promise<ServiceUser | undefined>
  readonly secrets: ClientSecrets
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
  /** Whether the user whose key has signed an assertion may use it. Checked after the signature, like a secret. */
  assertMayAssert(client: Client): void
}

/** What this file needs. */
export interface ClientsOptions {
  readonly directory: ClientDirectory
  readonly attempts: AttemptLimiter
  /** The time at which credentials are looked at. */
  readonly now: () => Date
  readonly notes: RequestNotes
}

/** Makes the engine find its clients among the service users. */
export function connectClients(provider: Provider, { directory, attempts, now, notes }: ClientsOptions): Clients {
  const users = new WeakMap<Client, AuthenticatedUser>()
  const secretIds = new WeakMap<Client, string>()
  const template = newClient(provider)
  const decoys = createDecoys()

  // The types promise a text, but this is also called with the subject of an assertion, which can be anything.
  provider.Client.find = async (named: unknown): Promise<Client> => {
    const clientId = typeof named === 'string' ? named : ''
    const ctx = currentContext()
    const parts = splitClientId(clientId)
    if (parts !== undefined) notes.identified(ctx.req, clientId)
    assertMayTry(ctx, { clientId, address: notes.addressOf(ctx.req) }, attempts)

    const user = parts === undefined ? undefined : await findUser(ctx.req, directory, parts.userId)
    const method = authenticationMethod(ctx)
    const client: Client = Object.create(template, {
      clientId: { value: clientId, enumerable: true },
      tokenEndpointAuthMethod: { value: method, enumerable: true },
      // An unknown client gets this far too, and fails here like one with a wrong secret.
      compareClientSecret: {
        value: (secret: string) => {
          const proved = provedSecret(directory.secrets, user, { secret, now: now() })
          if (proved !== undefined) secretIds.set(client, proved.secretId)
          return proved !== undefined
        },
      },
    })
    if (method === 'private_key_jwt') addAssertionKeys(client, user?.keys ?? [], { decoys, now: now() })
    if (user !== undefined && parts !== undefined) users.set(client, { user, projectName: parts.projectName })
    return client
  }

  return {
    userOf: (client) => {
      const user = users.get(client)
      if (user === undefined) throw new Error('the client has not been authenticated')
      return user
    },
    claimedUserIdOf: (client) => (client === undefined ? undefined : users.get(client)?.user.userId),
    secretIdOf: (client) => secretIds.get(client) ?? null,
    assertMayAssert: (client) => {
      if (users.get(client)?.user.enabled !== true) throw new errors.InvalidClientAuth('the user is disabled')
    },
  }
}

/** Counts the client authentications that fail, and notes why requests do. */
export function countFailures(provider: Provider, { attempts, notes }: Omit<ClientsOptions, 'directory'>): void {
  provider.on('server_error', (ctx) => notes.refused(ctx.req, 'server_error'))
  provider.on('grant.error', (ctx, error) => {
    notes.refused(ctx.req, error.error)
    // The engine names the client only once it was allowed to try.
    const client = ctx.oidc.entities.Client
    if (error.error !== 'invalid_client' || client === undefined) return
    attempts.fail({ clientId: client.clientId, address: notes.addressOf(ctx.req) })
  })
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

async function findUser(
  req: IncomingMessage,
  directory: ClientDirectory,
  userId: string,
): Promise<ServiceUser | undefined> {
  const before = foundBefore(req, userId)
  if (before !== undefined) return before.user
  try {
    return await directory.findServiceUser(userId)
  } catch (error) {
    throw toUnavailable(error)
  }
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
