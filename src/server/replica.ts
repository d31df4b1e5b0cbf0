/** Makes the replica: what this process serves from memory, and the check of what it could not sign with. */
import { createDecryptabilityCheck, type DecryptabilityCheck } from '../app/keys/decryptability-check.ts'
import { Replica } from '../app/replica/replica.ts'
import { type AroundRows, refuseUnreadableRows } from '../app/replica/unreadable-rows.ts'
import { createSignerFactory } from '../crypto/signer.ts'
import { activeKey } from '../domain/keys/key-ring.ts'
import type { SealedWebKey } from '../domain/keys/sealed-keys.ts'
import type { ChangeFeed } from '../domain/ports/instance.ts'
import { createInstanceReader } from '../storage/instance/instance-reader.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import { createChangeFeed } from '../storage/postgres/change-feed.ts'
import { type PostgresOptions, shareOut } from '../storage/postgres/postgres-pool.ts'
import { whenAvailable } from './database-wait.ts'
import type { OpenedInstance, StartParts } from './instance-setup.ts'
import { systemClock } from './system-clock.ts'

export interface StartedReplica {
  readonly replica: Replica
  readonly feed: ChangeFeed
  /** Handles rows that cannot be read, except those that the replica reads. */
  readonly aroundRows: AroundRows
  readonly decryptability: DecryptabilityCheck
}

/** @throws {Error} that says what to do, if the instance cannot be read or the private key of its active web key cannot be opened. */
export async function startReplica(
  { integrity, sealer }: Pick<OpenedInstance, 'integrity' | 'sealer'>,
  { config, log, stack, database, where, baseUrl, tracing, waiting }: StartParts & { readonly where: PostgresOptions },
): Promise<StartedReplica> {
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
  await whenAvailable(() => replica.start(), waiting)
  assertCanSign(replica)
  const aroundRows = refuseUnreadableRows(systemClock, log)
  const sealedKeys = aroundRows(tracing.calls('SealedKeyStore', createSealedKeyStore(database)))
  const check = { assertOpens: (key: SealedWebKey) => sealer.use(key.sealed, key, () => {}) }
  const decryptability = createDecryptabilityCheck({ keys: sealedKeys, check, log })
  // Logged at the start, so that the operator can act before the day on which one of them has to sign.
  await whenAvailable(() => decryptability.checkInitialKeys(), waiting)
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
