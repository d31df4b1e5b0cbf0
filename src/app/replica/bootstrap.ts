/**
 * Initialises an empty instance: its issuer, a project, an owner with one client secret, one active web key, and the integrity
 * key. With a configuration, that has the owner and all else, and there is no secret.
 */
import { type ClientId, formatClientId } from '../../domain/identities/client-id.ts'
import type { NewIntegrity } from '../../domain/integrity.ts'
import { DEFAULT_WEB_KEY_CONFIG } from '../../domain/keys/key-algorithm.ts'
import type { FirstAdministrator, FirstConfiguration, InstanceInitializer } from '../../domain/ports/instance.ts'
import type { KeyPairGenerator } from '../../domain/ports/keys.ts'

const PROJECT_NAME = 'keyturn'

export interface CredentialsSink {
  /** Stores them durably, without destroying what an earlier call stored. */
  write(credentials: { readonly clientId: string; readonly clientSecret: string }): Promise<void>
}

export interface BootstrapOptions {
  readonly initializer: InstanceInitializer
  readonly generator: KeyPairGenerator
  readonly newIntegrity: () => Promise<NewIntegrity>
  readonly credentials: CredentialsSink
  /** The first administrator, whose credentials the operator has. Null: one is generated. */
  readonly given: (ClientId & { readonly clientSecret: string }) | null
  readonly configuration: FirstConfiguration | null
  readonly issuer: string
  readonly newId: () => string
}

/**
 * Initialises the instance unless that has been done, also when several replicas start on it at once.
 *
 * The credentials are stored before the instance is. A crash in between leaves credentials that do not work and an empty
 * instance, which the next start initialises. It never leaves an instance without an administrator.
 * @returns Whether this call initialised it.
 * @throws {DomainError} `storage_unavailable`; any error of the credentials sink.
 */
export async function bootstrap(options: BootstrapOptions): Promise<boolean> {
  const { initializer, generator, newIntegrity, credentials, given, configuration, issuer, newId } = options
  if (await initializer.isInitialised()) return false

  const firstKey = await generator.generate(DEFAULT_WEB_KEY_CONFIG)
  const integrity = await newIntegrity()
  if (configuration !== null)
    return initializer.initialise({ owner: configuration, firstKey, integrity, issuer }, async () => {})
  const { secret, hash } =
    given === null
      ? integrity.secrets.clientSecrets.generate()
      : { secret: given.clientSecret, hash: integrity.secrets.clientSecrets.hash(given.clientSecret) }
  const administrator: FirstAdministrator = {
    kind: 'administrator',
    userId: given?.userId ?? newId(),
    projectId: newId(),
    projectName: given?.projectName ?? PROJECT_NAME,
    secretId: newId(),
    secretHash: hash,
  }
  return initializer.initialise({ owner: administrator, firstKey, integrity, issuer }, async () => {
    if (given === null) await credentials.write({ clientId: formatClientId(administrator), clientSecret: secret })
  })
}
