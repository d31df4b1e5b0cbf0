/** What the instance is made of, and how the replica that answers is doing. Each open console asks for it every second. */
import type { KeyResealer, SealedKeyStore } from '../../domain/keys/sealed-keys.ts'
import type { ReplicaStore } from '../../domain/ports/records.ts'
import type { Readiness } from '../../domain/ports/runtime.ts'
import type { SeenReplicas } from '../../domain/replicas.ts'
import type { ReplicaIdentity } from '../replica/heartbeats.ts'
import type { Replica } from '../replica/replica.ts'
import type { ReplicaState } from '../replica/replica-memory.ts'

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

export interface MasterKeyFacts {
  readonly id: string
  readonly active: boolean
  readonly configured: boolean
  readonly sealedKeys: number
}

export interface InstanceFacts
  extends Pick<InstanceOverviewOptions, 'issuer' | 'settings' | 'identity'>,
    Pick<ReplicaState, 'version' | 'changedAt' | 'lagSeconds'>,
    StoredFacts,
    SeenReplicas {
  readonly now: Date
  readonly readiness: Readiness
  readonly stalenessSeconds: number
  readonly clockOffsetSeconds: number
}

interface StoredFacts {
  readonly serverVersion: string
  readonly masterKeys: readonly MasterKeyFacts[]
}

export class InstanceOverview {
  readonly #options: InstanceOverviewOptions

  constructor(options: InstanceOverviewOptions) {
    this.#options = options
  }

  async get(): Promise<InstanceFacts> {
    const { issuer, settings, identity, replica, replicas, readiness, now } = this.#options
    const { version, changedAt, lagSeconds } = replica.state
    return {
      issuer,
      settings,
      identity,
      version,
      changedAt,
      stalenessSeconds: replica.guard.stalenessSeconds,
      lagSeconds,
      readiness: readiness(),
      clockOffsetSeconds: replica.clockOffset.seconds,
      ...(await this.#read()),
      ...(await replicas.list()),
      now: now(),
    }
  }

  async #read(): Promise<StoredFacts> {
    const { readServerVersion, sealedKeys, masterKeys } = this.#options
    const { masterKeyIds: configured, masterKeyOf } = masterKeys
    const sealing = (await sealedKeys.list()).map(({ sealed }) => masterKeyOf(sealed) ?? '')
    const ids = new Set([...configured, ...sealing])
    return {
      serverVersion: await readServerVersion(),
      masterKeys: [...ids].map((id) => ({
        id,
        active: id === configured[0],
        configured: configured.includes(id),
        sealedKeys: sealing.filter((other) => other === id).length,
      })),
    }
  }
}
