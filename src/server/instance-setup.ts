/**
 * Prepares the database for a replica, step by step: the schema, the first content of an empty instance, the integrity key and the issuer.
 *
 * Each step waits for the database, and all of them are idempotent: several replicas may do them at once.
 */
import { randomUUID } from 'node:crypto'
import { bootstrap } from '../app/replica/bootstrap.ts'
import { settleIssuer } from '../app/replica/issuer.ts'
import type { Config } from '../config/config.ts'
import { generateIntegrity, openIntegrity } from '../crypto/integrity-key.ts'
import { createKeyPairGenerator } from '../crypto/key-pair.ts'
import type { MasterKeys } from '../crypto/master-keys.ts'
import { createKeySealer, type KeySealer } from '../crypto/sealed-key.ts'
import { messageOf } from '../domain/errors.ts'
import type { Integrity } from '../domain/integrity.ts'
import type { KeyPairGenerator } from '../domain/ports/keys.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { readInitialCredentials } from '../secret-files/initial-credentials.ts'
import { masterKeySource } from '../secret-files/master-key-source.ts'
import { startEpoch } from '../storage/audit/audit-reader.ts'
import { createInstanceInitializer } from '../storage/instance/instance-initializer.ts'
import { createIssuerStore } from '../storage/instance/issuer-store.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import { migrate } from '../storage/migrations/migrate.ts'
import type { Database } from '../storage/postgres/database.ts'
import type { Tracing } from '../telemetry/tracing/tracing.ts'
import { readBootstrapFile } from './bootstrap-file.ts'
import type { CleanupStack } from './cleanup-stack.ts'
import { adminCredentialsFile } from './config-files.ts'
import { type WaitOptions, whenAvailable } from './database-wait.ts'

/** What each step of a start gets. */
export interface StartParts {
  readonly config: Config
  readonly log: Log
  readonly stack: CleanupStack
  readonly database: Database
  readonly baseUrl: string
  readonly tracing: Tracing
  readonly waiting: WaitOptions
}

/** An instance that is set up, with the keys that open it. */
export interface OpenedInstance {
  /** Whether this call filled an empty instance. */
  readonly isNew: boolean
  readonly masterKeys: MasterKeys
  readonly sealer: KeySealer
  readonly generator: KeyPairGenerator
  readonly integrity: Integrity
}

/** @throws {Error} that says what to do. */
export async function setUpInstance(options: StartParts): Promise<OpenedInstance> {
  const { config, log, database, baseUrl, waiting } = options
  const { signal } = waiting
  const source = masterKeySource(config, log)
  const applied = await whenAvailable(() => migrate(database), waiting)
  if (applied.length > 0) log.info({ migrations: applied }, 'the schema of the database was brought up to date')

  if (await whenAvailable(() => startEpoch(database), waiting))
    log.info({}, 'the database was loaded into another server: the audit trail goes on after what it had')

  const isEmpty = !(await whenAvailable(() => createInstanceInitializer(database).isInitialised(), waiting))
  const masterKeys = await source.load({ mayGenerate: isEmpty, signal })
  const sealer = createKeySealer(masterKeys)
  const generator = options.tracing.calls('KeyPairGenerator', createKeyPairGenerator(sealer))
  const isNew = await initialise({ ...options, isEmpty, masterKeys, generator })

  // Loaded first: all other rows are verified with it.
  const integrity = await whenAvailable(() => loadIntegrity(database, masterKeys), waiting)

  const store = createIssuerStore(database)
  // With an embedded database no other replica goes on under the old issuer.
  const followsPort = config.baseUrl === null && config.database.kind === 'embedded'
  await whenAvailable(() => settleIssuer({ store, issuer: baseUrl, followsPort, log }), waiting)
  return { isNew, masterKeys, sealer, generator, integrity }
}

/** Fills the instance if it is empty. @param isEmpty Whether it was: another replica may fill it meanwhile. @returns Whether this call did. */
async function initialise(
  options: StartParts & Pick<OpenedInstance, 'masterKeys' | 'generator'> & { readonly isEmpty: boolean },
): Promise<boolean> {
  const { config, log, database, baseUrl, waiting, isEmpty, masterKeys, generator } = options
  const { initialCredentialsFile } = config
  const given =
    isEmpty && initialCredentialsFile !== null ? await readInitialCredentials(initialCredentialsFile, baseUrl) : null
  const bootstrapFile = await readBootstrapFile(config, { isEmpty, baseUrl, log })
  const initialised = await whenAvailable(
    () =>
      bootstrap({
        initializer: createInstanceInitializer(database),
        generator,
        newIntegrity: () => generateIntegrity(masterKeys),
        credentials: adminCredentialsFile(config, baseUrl, log),
        given,
        configuration: bootstrapFile?.configuration ?? null,
        issuer: baseUrl,
        newId: randomUUID,
      }),
    waiting,
  )
  if (initialised && bootstrapFile !== null)
    log.info({ clientIds: bootstrapFile.ownerClientIds() }, 'the instance begins with these owners')
  return initialised
}

/** Opens the integrity key of an instance that is set up. @throws {Error} that says what to do. */
export async function loadIntegrity(database: Database, masterKeys: MasterKeys): Promise<Integrity> {
  const sealed = await createSealedKeyStore(database).integrityKey()
  if (sealed === null)
    throw new Error('the integrity key of the instance is missing: restore the database from a backup')
  try {
    return await openIntegrity(sealed, masterKeys)
  } catch (cause) {
    const advice = 'KEYTURN_MASTER_KEYS must have the one that sealed it; in an embedded setup, restore master.key'
    throw new Error(`${messageOf(cause)} (${advice})`, { cause })
  }
}
