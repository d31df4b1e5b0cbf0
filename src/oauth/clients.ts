/**
 * Service users as the clients of the engine.
 *
 * The engine wants a client object with its own metadata for each client. All service users have the same, but for the
 * client ID and the secrets, so one object is made in the engine's way and each request gets one derived from it. Known
 * and unknown clients take the same steps, so that the time of an answer does not tell which user exists.
 */
import { randomBytes } from 'node:crypto'
import type { Client, Provider } from 'oidc-provider'
import { splitClientId } from '../domain/client-id.ts'
import type { ClientSecrets } from '../domain/ports.ts'
import { isLive, type ServiceUser } from '../domain/service-user.ts'
import { toUnavailable } from './errors.ts'

/** What the engine's clients are made from. */
export interface ClientDirectory {
  findServiceUser(userId: string): Promise<ServiceUser | undefined>
  readonly secrets: ClientSecrets
}

/** A service user who has proved a secret, with the project that its client ID names. */
export interface AuthenticatedUser {
  readonly user: ServiceUser
  readonly projectName: string
}

/** Says which service user stands behind a client that the engine has authenticated. */
export type UserOfClient = (client: Client) => AuthenticatedUser

/** Makes the engine find its clients among the service users. */
export function connectClients(provider: Provider, directory: ClientDirectory): UserOfClient {
  const users = new WeakMap<Client, AuthenticatedUser>()
  const template = newClient(provider)

  provider.Client.find = async (clientId: string): Promise<Client> => {
    const parts = splitClientId(clientId)
    const user = parts === undefined ? undefined : await findUser(directory, parts.userId)
    const client: Client = Object.create(template, {
      clientId: { value: clientId, enumerable: true },
      // An unknown client gets this far too, and fails here like one with a wrong secret.
      compareClientSecret: { value: (secret: string) => provesSecret(directory.secrets, user, secret) },
    })
    if (user !== undefined && parts !== undefined) users.set(client, { user, projectName: parts.projectName })
    return client
  }

  return (client) => {
    const user = users.get(client)
    if (user === undefined) throw new Error('the client has not been authenticated')
    return user
  }
}

async function findUser(directory: ClientDirectory, userId: string): Promise<ServiceUser | undefined> {
  try {
    return await directory.findServiceUser(userId)
  } catch (error) {
    throw toUnavailable(error)
  }
}

function provesSecret(secrets: ClientSecrets, user: ServiceUser | undefined, secret: string): boolean {
  const now = new Date()
  const hashes = (user?.secrets ?? []).filter((candidate) => isLive(candidate, now)).map(({ hash }) => hash)
  const matches = secrets.matches(secret, hashes)
  return matches && user?.enabled === true
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
