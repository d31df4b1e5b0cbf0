/**
 * The use cases of web keys: create, activate, list, delete (Spec §4.3).
 *
 * Key pairs are generated before the store is locked. Each change is visible on this replica when the call returns, and
 * is an event of the audit trail.
 */

import { webKeyResource } from '../../domain/audit-resources.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import type { WebKeyConfig } from '../../domain/keys/key-algorithm.ts'
import {
  type Activation,
  type ActivationRules,
  assertRoom,
  type KeyRing,
  type KeyRingChange,
  planActivation,
  planCreation,
  planDeletion,
  planDiscard,
} from '../../domain/keys/key-ring.ts'
import type { InitialWebKey } from '../../domain/keys/web-key.ts'
import type { InstanceReader } from '../../domain/ports/instance.ts'
import type { KeyPairGenerator, KeyStore } from '../../domain/ports/keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Replica } from '../replica/replica.ts'
import type { DecryptabilityCheck } from './decryptability-check.ts'

export interface WebKeysOptions {
  readonly store: KeyStore
  readonly reader: InstanceReader
  readonly generator: KeyPairGenerator
  readonly replica: Replica
  readonly decryptability: Pick<DecryptabilityCheck, 'checkKey'>
  readonly log: Log
  readonly activation: ActivationRules
  readonly maxWebKeys: number
}

export interface CreatedWebKey {
  readonly key: InitialWebKey
  /** What is known to fail at verifiers, if it is the first of its algorithm; see `algorithmWarnings`. */
  readonly warnings: readonly string[]
}

/**
 * Every method throws {DomainError}: the codes of its plan in `key-ring.ts`, and `storage_unavailable`;
 * what changes something also `change_outcome_unknown` and `change_not_in_force`.
 */
export class WebKeys {
  readonly #options: WebKeysOptions

  constructor(options: WebKeysOptions) {
    this.#options = options
  }

  /**
   * Creates an initial key, and dates its publication once this replica serves it. The first of its algorithm is warned about.
   * @param signal Once it is aborted nothing is stored, because no caller would learn of the key.
   * @throws {DomainError} also `key_generation_busy`; the reason of the signal.
   */
  async create(actor: Actor, config: WebKeyConfig, signal: AbortSignal): Promise<CreatedWebKey> {
    const { generator, log, maxWebKeys } = this.#options
    // Asked before as well, so that a full ring does not cost the generation of a key pair.
    assertRoom(await this.list(), maxWebKeys)
    const pair = await generator.generate(config)
    signal.throwIfAborted()
    const { key, warnings } = await this.#update(actor, pair.keyId, (ring, now) => {
      const plan = planCreation(ring, pair, { now, maxWebKeys })
      return { ...plan, result: { key: plan.result, warnings: algorithmWarnings(pair.algorithm, ring) } }
    })
    const { keyId, algorithm } = key
    log.info({ keyId, algorithm }, 'web key created')
    if (warnings.length > 0) log.warn({ keyId, algorithm, warnings }, 'the first web key of its algorithm was created')
    const published = await this.#publish()
    return { key: published.find((candidate) => candidate.keyId === keyId) ?? key, warnings }
  }

  /** Makes a key the one that signs. Activating the active key changes nothing. */
  async activate(actor: Actor, keyId: string): Promise<Activation> {
    const { store, replica, activation, decryptability, log } = this.#options
    // Before the lock, so that no other change waits for the check.
    const { undecryptable, sealed } = await decryptability.checkKey(keyId)
    const change = await store.update({ ...actor, resource: webKeyResource(keyId) }, (ring, now) =>
      planActivation(ring, keyId, { ...activation, now, undecryptable }),
    )
    await replica.takeOverOwnChange(change, sealed)
    const { result } = change
    log.info({ keyId, algorithm: result.key.algorithm }, 'web key activated')
    if (result.knownFrom !== undefined) {
      log.warn({ keyId, knownFrom: result.knownFrom }, 'web key activated before every verifier can know it')
    }
    return result
  }

  /** All web keys, oldest first, as the database has them. */
  async list(): Promise<KeyRing> {
    return (await this.#options.reader.load()).ring
  }

  /** Deletes an inactive key and returns when. */
  async delete(actor: Actor, keyId: string): Promise<Date> {
    const deletedAt = await this.#update(actor, keyId, (ring, now) => planDeletion(ring, keyId, { now }))
    this.#options.log.info({ keyId }, 'web key deleted')
    return deletedAt
  }

  /** Deletes a key that is not active and returns when; undefined if there is no such key. */
  async discard(actor: Actor, keyId: string): Promise<Date | undefined> {
    const deletedAt = await this.#update(actor, keyId, (ring, now) => planDiscard(ring, keyId, { now }))
    if (deletedAt !== undefined) this.#options.log.info({ keyId }, 'web key deleted')
    return deletedAt
  }

  /** The key is there, so a failure is only logged. The rotator of some replica does it within seconds. */
  async #publish(): Promise<readonly InitialWebKey[]> {
    const { store, replica, log } = this.#options
    let published: readonly InitialWebKey[]
    try {
      published = await store.publish()
    } catch (error) {
      log.warn({ err: error }, 'the publication of a web key could not be dated, which is tried again')
      return []
    }
    await replica.refreshOrLog()
    return published
  }

  async #update<T>(actor: Actor, keyId: string, decide: (ring: KeyRing, now: Date) => KeyRingChange<T>): Promise<T> {
    const { store, replica } = this.#options
    const change = await store.update({ ...actor, resource: webKeyResource(keyId) }, decide)
    await replica.takeOverOwnChange(change)
    return change.result
  }
}
