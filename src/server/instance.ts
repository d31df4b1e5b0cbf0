/**
 * Makes the parts that show the instance to operators: what it is made of, which replicas run, who calls deprecated methods.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { DeprecatedCallCounter } from '../app/instance/deprecated-call-counter.ts'
import { InstanceOverview } from '../app/instance/instance-overview.ts'
import { HeartbeatWriter } from '../app/replica/heartbeat-writer.ts'
import { readVersion } from '../config/version.ts'
import { createKeyResealer } from '../crypto/resealer.ts'
import type { ServiceParts } from '../rpc/services.ts'
import { createDeprecatedCallStore } from '../storage/instance/deprecated-call-store.ts'
import { createReplicaStore } from '../storage/instance/replica-store.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import { readServerVersion } from '../storage/postgres/server-version.ts'
import { recording } from './recording.ts'
import type { ServicesOptions } from './services.ts'
import { systemClock } from './system-clock.ts'

/** PostgreSQL and the tables take no longer one. */
const MAX_HOST_NAME = 255

/** Begins to write heartbeats and counts in the background. */
export function startInstanceParts(options: ServicesOptions): Pick<ServiceParts, 'instance' | 'deprecatedCalls'> {
  const { config, log, stack, database, masterKeys, replica, readiness, clockOffsetSeconds, rows, now, baseUrl } =
    options
  const canWrite = options.records.isOpen
  const identity = {
    replicaId: randomUUID(),
    hostName: ownNameOf(hostname()),
    keyturnVersion: readVersion(),
    startedAt: now(),
  }
  const heartbeats = new HeartbeatWriter({
    store: recording(options, createReplicaStore),
    identity,
    replica,
    readiness,
    canWrite,
    clock: systemClock,
    log,
  })
  stack.defer(() => heartbeats.stop())
  heartbeats.start()
  const deprecatedCalls = new DeprecatedCallCounter({
    store: { ...createDeprecatedCallStore(database), record: recording(options, createDeprecatedCallStore).record },
    canWrite,
    clock: systemClock,
    now,
    log,
  })
  stack.defer(() => deprecatedCalls.stop())
  const instance = new InstanceOverview({
    issuer: baseUrl,
    identity,
    replica,
    replicas: createReplicaStore(database),
    readiness,
    clockOffsetSeconds,
    readServerVersion: () => readServerVersion(database),
    sealedKeys: rows.around(createSealedKeyStore(database)),
    masterKeys: createKeyResealer(masterKeys),
    settings: config.shown,
    clock: systemClock,
    now,
  })
  return { instance, deprecatedCalls }
}

/** A name that every machine has says nothing. */
function ownNameOf(hostName: string): string {
  return /^localhost(\.|$)/.test(hostName) ? '' : hostName.slice(0, MAX_HOST_NAME)
}
