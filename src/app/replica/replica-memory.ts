/**
 * What a replica serves from memory: the keys, how they rotate, the trusted issuers, and the service users, all of one revision.
 *
 * `replica.ts` decides when it is loaded, and whether it may be served.
 */

import { isSameRevision, type Revision } from '../../domain/changes.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { Rotation } from '../../domain/keys/rotation.ts'
import { DEFAULT_ROTATION_POLICY } from '../../domain/keys/rotation-policy.ts'
import type { InstanceReader } from '../../domain/ports/instance.ts'
import type { StoredKeyChange } from '../../domain/ports/keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import type { LiveIdentities } from '../identities/live-identities.ts'
import type { LiveKeyRing } from '../keys/live-key-ring.ts'

/** Before the first load there is nothing to do. */
const NO_ROTATION: Rotation = { policy: { ...DEFAULT_ROTATION_POLICY, enabled: false }, requestedAt: null }

const GONE_BACK = 'the database has gone back, as after a fail-over that lost changes: its state is taken over'

export interface ReplicaMemoryOptions {
  readonly keys: LiveKeyRing
  readonly identities: LiveIdentities
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
}

export class ReplicaMemory {
  readonly keys: LiveKeyRing
  readonly identities: LiveIdentities
  readonly #options: ReplicaMemoryOptions
  readonly #listeners = new Set<(lagSeconds: number | null) => void>()
  #rotation = NO_ROTATION
  #trustedIssuers: readonly TrustedIssuer[] = []
  #revision: Revision = { version: -1, changedAt: null }
  #lagSeconds: number | null = null

  constructor(options: ReplicaMemoryOptions) {
    this.#options = options
    this.keys = options.keys
    this.identities = options.identities
  }

  get rotation(): Rotation {
    return this.#rotation
  }

  get trustedIssuers(): readonly TrustedIssuer[] {
    return this.#trustedIssuers
  }

  get revision(): Revision {
    return this.#revision
  }

  /** How long the last change that was loaded took to get here, at most; null if there has been none. */
  get lagSeconds(): number | null {
    return this.#lagSeconds
  }

  /** Calls `listener` after each change, with its lag if it was loaded, until the returned function is called. */
  subscribe(listener: (lagSeconds: number | null) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Takes over the state of the database. What the reader or a listener of the keys throws passes through. */
  async load(reader: Pick<InstanceReader, 'loadSince'>): Promise<void> {
    const { clock, log } = this.#options
    const before = this.#revision
    const startedAt = clock.monotonic()
    const state = await reader.loadSince(before, (changes) => ({ userIds: this.identities.idsToRead(changes) }))
    const snapshot = await this.keys.prepare(state)
    // `adopt` has taken over a newer state in the meantime.
    if (this.#revision !== before && state.version <= this.#revision.version) return
    if (state.version <= before.version && !isSameRevision(state, before))
      log.warn({ before: before.version, now: state.version }, GONE_BACK)
    // Synchronous from here, so that no request sees the keys of one version and the users of another.
    // The revision comes last, so that a failure on the way is tried again.
    this.identities.replace(state)
    this.keys.publish(snapshot)
    this.#rotation = state.rotation
    this.#trustedIssuers = state.trustedIssuers
    this.#revision = { version: state.version, changedAt: state.changedAt }
    if (before.version < 0 || state.changedAt === null) return
    const age = state.clock.databaseTime.getTime() - state.changedAt.getTime() + clock.monotonic() - startedAt
    this.#lagSeconds = Math.max(0, age) / 1000
    this.#notify(this.#lagSeconds)
  }

  /**
   * Takes over a change of the keys that this process has made, without reading it again.
   * @param sealed Sealed private keys by key id, among them that of a key that the change has activated.
   * @returns Whether memory has the change. Not if another change came in between: then everything must be loaded.
   */
  async adopt(
    { ring, rotation, before, after }: StoredKeyChange<unknown>,
    sealed: ReadonlyMap<string, string> = new Map(),
  ): Promise<boolean> {
    const snapshot = isSameRevision(before, this.#revision) ? await this.keys.prepareOwn(ring, sealed) : undefined
    if (snapshot === undefined || !isSameRevision(before, this.#revision)) return isSameRevision(after, this.#revision)
    // Synchronous from here, as in `load`.
    this.keys.publish(snapshot)
    this.identities.advance(after)
    this.#rotation = rotation
    this.#revision = after
    this.#notify(null)
    return true
  }

  #notify(lagSeconds: number | null): void {
    for (const listener of this.#listeners) listener(lagSeconds)
  }
}
