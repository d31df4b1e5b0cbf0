/**
 * The steps of a start, until this process can serve from memory: the schema, the first content of an empty instance, the integrity key, the issuer,
 * and the replica.
 *
 * Each step waits for the database with exponential backoff and jitter: orchestrators start both at once, and a server may restart during a
 * fail-over. All of them are idempotent: several replicas may do them at once. An error that an operator must correct, such as a wrong password, ends
 * the start.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { createDecryptabilityCheck, type DecryptabilityCheck } from '../app/keys/decryptability-check.ts'
import { bootstrap } from '../app/replica/bootstrap.ts'
import { settleIssuer } from '../app/replica/issuer.ts'
import { Replica } from '../app/replica/replica.ts'
import { type AroundRows, refuseUnreadableRows } from '../app/replica/unreadable-rows.ts'
import type { Config } from '../config/config.ts'
import { generateIntegrity, openIntegrity } from '../crypto/integrity-key.ts'
import { createKeyPairGenerator } from '../crypto/key-pair.ts'
import type { MasterKeys } from '../crypto/master-keys.ts'
import { createKeySealer, type KeySealer } from '../crypto/sealed-key.ts'
import { createSignerFactory } from '../crypto/signer.ts'
import { messageOf } from '../domain/errors.ts'
import type { Integrity } from '../domain/integrity.ts'
import { activeKey } from '../domain/keys/key-ring.ts'
import type { SealedWebKey } from '../domain/keys/sealed-keys.ts'
import type { ChangeFeed } from '../domain/ports/instance.ts'
import type { KeyPairGenerator } from '../domain/ports/keys.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { backoffMillis } from '../domain/time.ts'
import { readInitialCredentials } from '../secret-files/initial-credentials.ts'
import { masterKeySource } from '../secret-files/master-key-source.ts'
import { startEpoch } from '../storage/audit/audit-reader.ts'
import { createInstanceInitializer } from '../storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../storage/instance/instance-reader.ts'
import { createIssuerStore } from '../storage/instance/issuer-store.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import { migrate } from '../storage/migrations/migrate.ts'
import { createChangeFeed } from '../storage/postgres/change-feed.ts'
import type { Database } from '../storage/postgres/database.ts'
import { addressOf, type PostgresOptions, shareOut } from '../storage/postgres/postgres-pool.ts'
import { isTransient, whyUnavailable } from '../storage/postgres/storage-errors.ts'
import type { Tracing } from '../telemetry/tracing/tracing.ts'
import { readBootstrapFile } from './bootstrap-file.ts'
import type { CleanupStack } from './cleanup-stack.ts'
import { adminCredentialsFile } from './config-files.ts'
import { systemClock } from './system-clock.ts'

const RETRY = { first: 250, longest: 5_000 }

const WARN_EVERY_MILLIS = 10_000

/** What each step of a start gets. */
export interface StartParts {
  readonly config: Config
  readonly log: Log
  readonly stack: CleanupStack
  readonly database: Database
  readonly where: PostgresOptions
  readonly baseUrl: string
  readonly tracing: Tracing
  readonly signal: AbortSignal
  /** Called with the reason why the server is not ready, which is public. */
  readonly onWaiting: (reason: string) => void
}

/** An instance that is set up, with the keys that open it, and the replica that has it in memory. */
export interface StartedInstance {
  /** Whether this call filled an empty instance. */
  readonly isNew: boolean
  readonly masterKeys: MasterKeys
  readonly generator: KeyPairGenerator
  readonly integrity: Integrity
  readonly replica: Replica
  readonly feed: ChangeFeed
  /** Handles rows that cannot be read, except those that the replica reads. */
  readonly aroundRows: AroundRows
  readonly decryptability: DecryptabilityCheck
}

/**
 * @throws {Error} that says what to do, for example if the instance cannot be read or the private key of its active web key cannot be opened.
 */
export async function startInstance(options: StartParts): Promise<StartedInstance> {
  const { config, log, database, baseUrl, signal } = options
  const source = masterKeySource(config, log)
  const applied = await whenAvailable(() => migrate(database), options)
  if (applied.length > 0) log.info({ migrations: applied }, 'the schema of the database was brought up to date')

  if (await whenAvailable(() => startEpoch(database), options))
    log.info({}, 'the database was loaded into another server: the audit trail goes on after what it had')

  const isEmpty = !(await whenAvailable(() => createInstanceInitializer(database).isInitialised(), options))
  const masterKeys = await source.load({ mayGenerate: isEmpty, signal })
  const sealer = createKeySealer(masterKeys)
  const generator = options.tracing.calls('KeyPairGenerator', createKeyPairGenerator(sealer))
  const isNew = await initialise({ ...options, isEmpty, masterKeys, generator })

  // Loaded first: all other rows are verified with it.
  const integrity = await whenAvailable(() => loadIntegrity(database, masterKeys), options)

  const store = createIssuerStore(database)
  // With an embedded database no other replica goes on under the old issuer.
  const followsPort = config.baseUrl === null && config.database.kind === 'embedded'
  await whenAvailable(() => settleIssuer({ store, issuer: baseUrl, followsPort, log }), options)
  return { isNew, masterKeys, generator, integrity, ...(await startReplica(integrity, sealer, options)) }
}

/** Fills the instance if it is empty. @param isEmpty Whether it was: another replica may fill it meanwhile. @returns Whether this call did. */
async function initialise(
  options: StartParts & Pick<StartedInstance, 'masterKeys' | 'generator'> & { readonly isEmpty: boolean },
): Promise<boolean> {
  const { config, log, database, baseUrl, isEmpty, masterKeys, generator } = options
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
    options,
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

async function startReplica(integrity: Integrity, sealer: KeySealer, options: StartParts) {
  const { config, log, stack, database, where, baseUrl, tracing } = options
  const signers = createSignerFactory(sealer)
  const feed = createChangeFeed(where)
  const replica = new Replica({
    reader: tracing.calls('InstanceReader', createInstanceReader({ db: database.serving }, integrity.publicKeys)),
    feed,
    signers: { open: async (...key) => tracing.calls('Signer', await signers.open(...key)) },
    clock: systemClock,
    log,
    issuer: baseUrl,
    // One connection is for comparing versions.
    maxReads: shareOut(config.databaseMaxConnections, config.changeFeed).serving - 1,
    maxUsers: config.maxCachedUsers,
    maxStalenessSeconds: config.maxStalenessSeconds,
    primaryUrl: config.primary.url,
  })
  stack.defer(() => replica.stop())
  await whenAvailable(() => replica.start(), options)
  assertCanSign(replica)
  const aroundRows = refuseUnreadableRows(systemClock, log)
  const sealedKeys = aroundRows(tracing.calls('SealedKeyStore', createSealedKeyStore(database)))
  const check = { assertOpens: (key: SealedWebKey) => sealer.use(key.sealed, key, () => {}) }
  const decryptability = createDecryptabilityCheck({ keys: sealedKeys, check, log })
  // Logged at the start, so that the operator can act before the day on which one of them has to sign.
  await whenAvailable(() => decryptability.checkInitialKeys(), options)
  return { replica, feed, aroundRows, decryptability }
}

function assertCanSign(replica: Replica): void {
  const { ring, signer } = replica.keys()
  const active = activeKey(ring)
  if (active !== undefined && signer === null) {
    throw new Error(
      `the private key of the active web key ${active.keyId} cannot be opened with the configured master keys: ` +
        'add the one that sealed it to KEYTURN_MASTER_KEYS (in an embedded setup: restore master.key in the data directory)',
    )
  }
}

/**
 * Calls `attempt` until it succeeds. It must be idempotent.
 * @throws the reason of the signal when it is aborted; the errors of `attempt` that are not transient.
 */
async function whenAvailable<T>(attempt: () => Promise<T>, { where, log, signal, onWaiting }: StartParts): Promise<T> {
  const aborted = once(signal, 'abort').then((): never => {
    throw signal.reason
  })
  let warnedAt = Number.NEGATIVE_INFINITY
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted()
    try {
      // An attempt that a signal leaves behind fails when the database is closed.
      return await Promise.race([attempt(), aborted])
    } catch (error) {
      if (!(error instanceof Error) || !isTransient(error)) throw error
      onWaiting('waiting for the database, which is not available')
      if (performance.now() - warnedAt >= WARN_EVERY_MILLIS) {
        log.warn({}, `waiting for the database at ${addressOf(where.url)}: ${whyUnavailable(error)}`)
        warnedAt = performance.now()
      }
    }
    const wait = backoffMillis(failures, { ...RETRY, jitter: Math.random() / 2 })
    await delay(wait, undefined, { signal }).catch(() => {})
  }
}
