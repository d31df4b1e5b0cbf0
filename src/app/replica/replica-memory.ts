/**
 * What a replica serves from memory: the keys with the signer of the active one, how they rotate, the trusted issuers, and the service users, all
 * of one revision.
 *
 * `replica.ts` decides when it is loaded, and whether it may be served.
 */

import { isSameRevision, type Revision } from '../../domain/changes.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import { activeKey, type KeyRing } from '../../domain/keys/key-ring.ts'
import type { Rotation } from '../../domain/keys/rotation.ts'
import { DEFAULT_ROTATION_POLICY } from '../../domain/keys/rotation-policy.ts'
import type { InstanceReader, InstanceState } from '../../domain/ports/instance.ts'
import type { Signer, SignerFactory } from '../../domain/ports/keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import type { LiveIdentities } from '../identities/live-identities.ts'

/** The key ring at one moment. */
export interface KeySnapshot {
  readonly ring: KeyRing
  /** Signs with the active key; null if no key is active or the active one cannot be opened. */
  readonly signer: Signer | null
}

/** What is in memory at one moment, but for the users. Never changes; the next one replaces it. */
export interface ReplicaState extends KeySnapshot, Revision {
  readonly rotation: Rotation
  readonly trustedIssuers: readonly TrustedIssuer[]
  /** How long the change took to get here, at most. Null: it was there when this process started. */
  readonly lagSeconds: number | null
}

/** Before the first load there is nothing to do. */
const NOTHING: ReplicaState = {
  ring: [],
  signer: null,
  rotation: { policy: { ...DEFAULT_ROTATION_POLICY, enabled: false }, requestedAt: null },
  trustedIssuers: [],
  version: -1,
  changedAt: null,
  lagSeconds: null,
}

const GONE_BACK = 'the database has gone back, as after a fail-over that lost changes: its state is taken over'

export interface ReplicaMemoryOptions {
  readonly reader: Pick<InstanceReader, 'loadSince'>
  readonly signers: SignerFactory
  readonly identities: LiveIdentities
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
}

export class ReplicaMemory {
  readonly #options: ReplicaMemoryOptions
  readonly #listeners = new Set<(state: ReplicaState) => void>()
  #state = NOTHING

  constructor(options: ReplicaMemoryOptions) {
    this.#options = options
  }

  get state(): ReplicaState {
    return this.#state
  }

  /** Calls `listener` with each state that follows, until the returned function is called. */
  subscribe(listener: (state: ReplicaState) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Takes over the state of the database, one load at a time. What the reader or a listener throws passes through. */
  async load(): Promise<void> {
    const { reader, identities, clock, log } = this.#options
    const before = this.#state
    const startedAt = clock.monotonic()
    const loaded = await reader.loadSince(before, (changes) => ({ userIds: identities.idsToRead(changes) }))
    const signer = await this.#signerOf(loaded)
    const { ring, rotation, trustedIssuers, version, changedAt } = loaded
    if (version <= before.version && !isSameRevision(loaded, before))
      log.warn({ before: before.version, now: version }, GONE_BACK)
    const isFirst = before.version < 0 || changedAt === null
    const age = loaded.clock.databaseTime.getTime() - Number(changedAt) + clock.monotonic() - startedAt
    const lagSeconds = isFirst ? null : Math.max(0, age) / 1000
    const next = { ring, signer, rotation, trustedIssuers, version, changedAt, lagSeconds }
    // Synchronous from here, so that no request sees the keys of one version and the users of another.
    // The state comes last, so that a failure on the way is tried again.
    identities.replace(loaded)
    for (const listener of this.#listeners) listener(next)
    this.#state = next
  }

  /**
   * The signer of the active key, opened if it is another key than before. Null if it cannot be opened: the key set stays published, and no token is
   * signed with a key that is not the active one.
   */
  async #signerOf({ ring, sealedActiveKey }: InstanceState): Promise<Signer | null> {
    const { signers, log } = this.#options
    const { signer } = this.#state
    const key = activeKey(ring)
    if (key === undefined || sealedActiveKey === null) return null
    if (signer?.key.keyId === key.keyId) return signer
    try {
      return await signers.open(key, sealedActiveKey)
    } catch (error) {
      log.error({ keyId: key.keyId, err: error }, 'the active web key cannot be opened: no tokens are issued')
      return null
    }
  }
}
