/**
 * Makes the parts that show the instance to operators: what it is made of, which replicas run.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { InstanceOverview } from '../app/instance/instance-overview.ts'
import { startHeartbeats } from '../app/replica/heartbeats.ts'
import { readVersion } from '../config/version.ts'
import { createKeyResealer } from '../crypto/sealed-key.ts'
import { createReplicaStore } from '../storage/instance/replica-store.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import { readServerVersion } from '../storage/postgres/server-version.ts'
import { recording } from './recording.ts'
import type { ServicesOptions } from './services.ts'
import { systemClock } from './system-clock.ts'

/** PostgreSQL and the tables take no longer one. */
const MAX_HOST_NAME = 255

/** Begins to write heartbeats in the background. */
export function startInstanceOverview(options: ServicesOptions): InstanceOverview {
  const { config, log, stack, database, masterKeys, replica, readiness, rows, now, baseUrl } = options
  const canWrite = () => replica.guard.isReachable() && options.records.isOpen()
  const identity = {
    replicaId: randomUUID(),
    hostName: ownNameOf(hostname()),
    keyturnVersion: readVersion(),
    startedAt: now(),
  }
  const heartbeats = { store: recording(options, createReplicaStore), identity, replica, readiness, canWrite }
  stack.defer(startHeartbeats({ ...heartbeats, clock: systemClock, log }))
  return new InstanceOverview({
    issuer: baseUrl,
    identity,
    replica,
    replicas: createReplicaStore(database),
    readiness,
    readServerVersion: () => readServerVersion(database),
    sealedKeys: rows.around(createSealedKeyStore(database)),
    masterKeys: createKeyResealer(masterKeys),
    settings: config.shown,
    clock: systemClock,
    now,
  })
}

/** A name that every machine has says nothing. */
function ownNameOf(hostName: string): string {
  return /^localhost(\.|$)/.test(hostName) ? '' : hostName.slice(0, MAX_HOST_NAME)
}
