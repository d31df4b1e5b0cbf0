/** What the instance is made of, and how the replica that answers is doing. Each open console asks for it every second. */
import type { KeyResealer, SealedKeyStore } from '../../domain/keys/sealed-keys.ts'
import type { ReplicaStore } from '../../domain/ports/records.ts'
import type { Readiness } from '../../domain/ports/runtime.ts'
import { countByMasterKey } from '../keys/reseal.ts'
import type { ReplicaIdentity } from '../replica/heartbeats.ts'
import type { Replica } from '../replica/replica.ts'

export interface InstanceOverviewOptions {
  readonly issuer: string
  readonly identity: ReplicaIdentity
  readonly replica: Pick<Replica, 'state' | 'guard' | 'clockOffset'>
  readonly replicas: Pick<ReplicaStore, 'list'>
  readonly readiness: () => Readiness
  readonly readServerVersion: () => Promise<string>
  readonly sealedKeys: Pick<SealedKeyStore, 'list'>
  readonly masterKeys: Pick<KeyResealer, 'masterKeyIds' | 'masterKeyOf'>
  /** By the name of their variable, without secrets. */
  readonly settings: Readonly<Record<string, string | number | null>>
  readonly now: () => Date
}

export type InstanceOverview = ReturnType<typeof createInstanceOverview>
export type InstanceFacts = Awaited<ReturnType<InstanceOverview['get']>>

export function createInstanceOverview(options: InstanceOverviewOptions) {
  const { issuer, settings, identity, replica, replicas, readiness, readServerVersion, sealedKeys, now } = options
  const { masterKeyIds } = options.masterKeys
  return {
    async get() {
      const { version, changedAt, lagSeconds } = replica.state
      const sealing = countByMasterKey(await sealedKeys.list(), options.masterKeys)
      return {
        issuer,
        settings,
        identity,
        version,
        changedAt,
        lagSeconds,
        stalenessSeconds: replica.guard.stalenessSeconds,
        clockOffsetSeconds: replica.clockOffset.seconds,
        readiness: readiness(),
        serverVersion: await readServerVersion(),
        masterKeys: [...sealing].map(([id, count]) => ({
          id: id ?? '',
          active: id === masterKeyIds[0],
          configured: id !== null && masterKeyIds.includes(id),
          sealedKeys: count,
        })),
        ...(await replicas.list()),
        now: now(),
      }
    },
  }
}
