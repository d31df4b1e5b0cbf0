/**
 * Recovery of access when all secrets of the owners are lost: a new secret, written directly to the database.
 *
 * It takes the database and a master key that opens the integrity key of the instance. With both, one could sign tokens anyway.
 */

import { randomUUID } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { userResource } from '../../domain/audit-resources.ts'
import { DomainError } from '../../domain/errors.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import { formatClientId } from '../../domain/identities/client-id.ts'
import { addCredential, type ClientSecret } from '../../domain/identities/credential.ts'
import { WHOLE_INSTANCE } from '../../domain/identities/reach.ts'
import { createServiceUser, isEnabledOwner, isPerson, type ServiceUser } from '../../domain/identities/service-user.ts'
import type { Secrets } from '../../domain/integrity.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { CredentialsFile } from '../../secret-files/credentials-file.ts'
import { masterKeySource } from '../../secret-files/master-key-source.ts'
import { createIdentityStore } from '../../storage/identities/identity-store.ts'
import { adminCredentialsFile } from '../config-files.ts'
import { withInstance } from '../database.ts'
import { loadIntegrity } from '../instance-start.ts'

const PAGE = 1000

const PROJECT_NAME = 'keyturn'
const OWNER_NAME = 'recovered administrator'

export interface Recovered {
  readonly clientId: string
  readonly change: 'none' | 'enabled' | 'created'
}

/**
 * Gives an owner a new secret and writes it to the credentials file: an enabled owner, or else a disabled one, which is
 * enabled, or else a new one.
 * @param signal Ends the command for the master keys.
 * @throws {Error} that says what to do, if the instance has not been set up, its embedded database is in use, or the
 * master keys do not open the integrity key. Then at most the schema has been changed.
 */
export async function recoverOwner(config: Config, log: Log, signal: AbortSignal): Promise<Recovered> {
  const baseUrl = baseUrlOf(config)
  return await withInstance(config, log, async (database) => {
    // No private key is opened.
    const masterKeys = await masterKeySource(config, log).load({ mayGenerate: false, signal })
    const { publicKeys, secrets } = await loadIntegrity(database, masterKeys)
    const identities = createIdentityStore(database, publicKeys)
    const owner = await mostUsableOwner(identities)
    const clientId = await addOwnerSecret(identities, owner, {
      secrets: secrets.clientSecrets,
      file: adminCredentialsFile(config, baseUrl, log),
    })
    return { clientId, change: owner === undefined ? 'created' : owner.enabled ? 'none' : 'enabled' }
  })
}

/**
 * An enabled owner, or else a disabled one. Undefined if none can take another secret. Not a person of the OpenID provider, who has no
 * credentials here, and whose roles are those that the provider gives.
 */
async function mostUsableOwner(identities: IdentityStore): Promise<ServiceUser | undefined> {
  let disabled: ServiceUser | undefined
  for await (const user of everyUser(identities)) {
    if (!user.instanceRoles.includes('IAM_OWNER') || isPerson(user) || !canTakeSecret(user)) continue
    if (isEnabledOwner(user)) return user
    disabled ??= user
  }
  return disabled
}

function canTakeSecret(user: ServiceUser): boolean {
  try {
    const now = new Date()
    addCredential(user, newSecret(randomUUID(), new Uint8Array(), now), now)
    return true
  } catch (error) {
    if (error instanceof DomainError) return false
    throw error
  }
}

function newSecret(credentialId: string, hash: Uint8Array, at: Date): ClientSecret {
  const dates = { createdAt: at, expiresAt: null, deactivatedAt: null, lastUsedAt: null }
  return { kind: 'client_secret', credentialId, hash, ...dates }
}

async function* everyUser(identities: IdentityStore): AsyncGenerator<ServiceUser, void> {
  let page: readonly ServiceUser[] = []
  do {
    const last = page.at(-1)
    const filter = { projectId: null, search: '', reach: WHOLE_INSTANCE }
    page = await identities.listUsers(filter, { after: last ?? null, limit: PAGE })
    yield* page
  } while (page.length === PAGE)
}

/** Stores a secret only after it is in the file. @returns The client ID of the owner. */
async function addOwnerSecret(
  identities: IdentityStore,
  owner: ServiceUser | undefined,
  { secrets, file }: { readonly secrets: Secrets; readonly file: CredentialsFile },
): Promise<string> {
  const { secret, hash } = secrets.generate()
  const secretId = randomUUID()
  const facts = owner ?? {
    userId: randomUUID(),
    name: OWNER_NAME,
    clientCredentialsEnabled: true,
    ...(await someProject(identities)),
  }
  const entry = { ...SYSTEM, action: 'recover', resource: userResource(facts.userId, 'secrets', secretId) }
  const clientId = formatClientId(facts)
  await file.write({ clientId, clientSecret: secret }, () =>
    identities.changeUser(facts.userId, entry, (found, { clock, date }) => {
      const owner = asOwner(found ?? createServiceUser(facts, date))
      return { next: addCredential(owner, newSecret(secretId, hash, date), clock), result: undefined }
    }),
  )
  return clientId
}

function asOwner(user: ServiceUser): ServiceUser {
  return {
    ...user,
    enabled: true,
    clientCredentialsEnabled: true,
    // The command line sends no proofs.
    boundTokensRequired: false,
    instanceRoles: [...new Set([...user.instanceRoles, 'IAM_OWNER' as const])],
  }
}

/** A project for a new owner: that of the first administrator, or any. There is one, because there is an owner, if only one who has no credentials. */
async function someProject(identities: IdentityStore): Promise<{ projectId: string; projectName: string }> {
  const projects = await identities.listProjects({ after: null, limit: PAGE }, WHOLE_INSTANCE)
  const project = projects.find(({ name }) => name === PROJECT_NAME) ?? projects[0]
  if (project === undefined) throw new Error('the instance has no project: restore the database from a backup')
  return { projectId: project.projectId, projectName: project.name }
}

function baseUrlOf({ baseUrl, listen, tls }: Config): string {
  if (baseUrl !== null) return baseUrl
  if (listen.port === 0) throw new Error('the port of the server is not known: name its address with --base-url')
  return `${tls === null ? 'http' : 'https'}://localhost:${listen.port}`
}
