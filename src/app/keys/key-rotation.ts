/** The use cases around the rotation of web keys: out of turn, after a leak, the policy and what comes next. */

import { ROTATION_POLICY, WEB_KEYS, webKeyResource } from '../../domain/audit-resources.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import { algorithmOf } from '../../domain/keys/key-algorithm.ts'
import type { KeyRing, SealedKeyPair } from '../../domain/keys/key-ring.ts'
import { planRevocation, type Revocation, type RevocationOptions, revocationOf } from '../../domain/keys/revocation.ts'
import type { PlannedStep } from '../../domain/keys/rotation.ts'
import { planRequestedRotation, type RequestedRotation, schedule } from '../../domain/keys/rotation-plan.ts'
import { assertPolicy, changed, type RotationLimits, type RotationPolicy } from '../../domain/keys/rotation-policy.ts'
import type { RevokedWebKey, WebKey } from '../../domain/keys/web-key.ts'
import type { InstanceReader } from '../../domain/ports/instance.ts'
import type { KeyPairGenerator, KeyStore } from '../../domain/ports/keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Replica } from '../replica/replica.ts'
import type { DecryptabilityCheck } from './decryptability-check.ts'

export interface KeyRotationOptions {
  readonly store: KeyStore
  readonly reader: InstanceReader
  readonly generator: KeyPairGenerator
  readonly replica: Replica
  readonly decryptability: Pick<DecryptabilityCheck, 'checkInitialKeys'>
  readonly limits: RotationLimits
  readonly now: () => Date
  readonly log: Log
}

export interface ChangedPolicy {
  readonly policy: RotationPolicy
  /** What is known to fail at verifiers, if keys of a new algorithm will be made; see `algorithmWarnings`. */
  readonly warnings: readonly string[]
}

export interface Schedule {
  readonly steps: readonly PlannedStep[]
  readonly warnings: readonly string[]
}

/**
 * Every method throws {DomainError}: the codes of its plan, and `storage_unavailable`;
 * what changes something also `change_outcome_unknown` and `change_not_in_force`.
 */
export class KeyRotation {
  readonly #options: KeyRotationOptions

  constructor(options: KeyRotationOptions) {
    this.#options = options
  }

  /** Rotates out of turn: at once if the standby is known everywhere, or as soon as it is. */
  async rotate(actor: Actor): Promise<RequestedRotation> {
    const { store, replica, decryptability, limits, log } = this.#options
    const { undecryptable, sealed } = await decryptability.checkInitialKeys()
    const change = await store.update({ ...actor, resource: WEB_KEYS }, (ring, now, rotation) => {
      const plan = planRequestedRotation(rotation, ring, { now, limits, undecryptable })
      const { done, key } = plan.result
      return done && key !== undefined ? { ...plan, resource: webKeyResource(key.keyId) } : plan
    })
    await replica.takeOverOwnChange(change, sealed)
    const { result } = change
    const { done, doneAt, key } = result
    log.info({ done, doneAt, keyId: key?.keyId }, 'a rotation of web keys was asked for')
    return result
  }

  /**
   * Stops trusting a key at once. It is idempotent: for a revoked key, the result is the same again.
   *
   * If a new key has to take over, its generation neither waits behind `CreateWebKey` nor needs room in the key ring.
   */
  async revoke(actor: Actor, keyId: string): Promise<Revocation> {
    try {
      return await this.#revoke(actor, keyId)
    } catch (error) {
      const isGone = error instanceof DomainError && error.code === 'web_key_not_found'
      const before = isGone ? await this.#findRevocation(keyId) : undefined
      if (before === undefined) throw error
      await this.#options.replica.refreshAfterWrite()
      return before
    }
  }

  async #revoke(actor: Actor, keyId: string): Promise<Revocation> {
    const { replica, decryptability, log } = this.#options
    const { undecryptable } = await decryptability.checkInitialKeys()
    // Keys are never generated under the lock, and a replacement is rarely needed.
    const { key, active, trustedUntil } =
      (await this.#tryToRevoke(actor, keyId, { undecryptable, replacement: undefined })) ??
      (await this.#tryToRevoke(actor, keyId, { undecryptable, replacement: await this.#generateReplacement() })) ??
      neverHappens()
    await replica.refreshAfterWrite()
    log.warn({ keyId, activeKeyId: active?.keyId, trustedUntil }, 'web key revoked')
    return { key, active, trustedUntil }
  }

  #generateReplacement(): Promise<SealedKeyPair> {
    const { generator, replica } = this.#options
    return generator.generate(replica.status().rotation.policy.config, 'high')
  }

  /** Undefined if a replacement is needed and none was given. */
  async #tryToRevoke(
    actor: Actor,
    keyId: string,
    options: Pick<RevocationOptions, 'undecryptable' | 'replacement'>,
  ): Promise<Revocation | undefined> {
    const { store, limits } = this.#options
    const { jwksMaxAgeSeconds } = limits
    const change = await store.update({ ...actor, resource: webKeyResource(keyId) }, (ring, now, { policy }) => {
      const { config } = policy
      const plan = planRevocation(ring, keyId, { ...options, now, jwksMaxAgeSeconds, config })
      return plan ?? { steps: [], result: undefined }
    })
    return change.result
  }

  async #findRevocation(keyId: string): Promise<Revocation | undefined> {
    const key = await this.#options.store.findRevoked(keyId)
    if (key === undefined) return undefined
    return revocationOf(key, { ring: await this.list(), jwksMaxAgeSeconds: this.#options.limits.jwksMaxAgeSeconds })
  }

  async list(): Promise<KeyRing> {
    return (await this.#options.reader.load()).ring
  }

  listRevoked(): Promise<readonly RevokedWebKey[]> {
    return this.#options.store.listRevoked()
  }

  async find(keyId: string): Promise<WebKey | RevokedWebKey | undefined> {
    const published = (await this.list()).find((key) => key.keyId === keyId)
    return published ?? this.#options.store.findRevoked(keyId)
  }

  async policy(): Promise<RotationPolicy> {
    return (await this.#options.reader.load()).rotation.policy
  }

  /**
   * Changes the policy. An algorithm that no key of the ring has is warned about when it is set, and when rotation is switched on.
   * @throws {DomainError} `rotation_policy_invalid`.
   */
  async changePolicy(actor: Actor, changes: Partial<RotationPolicy>): Promise<ChangedPolicy> {
    const { store, replica, limits, log } = this.#options
    const change = await store.update({ ...actor, resource: ROTATION_POLICY }, (ring, _now, rotation) => {
      const { policy: before } = rotation
      const result = planPolicy(before, changes, { ring, limits })
      const { policy } = result
      return { steps: [], rotation: policy === before ? rotation : { ...rotation, policy }, result }
    })
    await replica.takeOverOwnChange(change)
    const { result } = change
    log.info({ policy: result.policy }, 'the rotation policy was changed')
    if (result.warnings.length > 0)
      log.warn(
        { warnings: result.warnings },
        'the rotation policy makes web keys of an algorithm that there is none of',
      )
    return result
  }

  /**
   * The steps that follow if no administrator interferes, in order.
   * @param changes Settings of the policy to plan with, as `changePolicy` would set them. Nothing is stored.
   * @throws {DomainError} `rotation_policy_invalid`.
   */
  async schedule(count: number, changes: Partial<RotationPolicy> = {}): Promise<Schedule> {
    const { reader, limits, now } = this.#options
    const { ring, rotation } = await reader.load()
    const { policy, warnings } = planPolicy(rotation.policy, changes, { ring, limits })
    return { steps: schedule({ ...rotation, policy }, ring, { now: now(), limits, count }), warnings }
  }
}

/** @throws {DomainError} `rotation_policy_invalid`. */
function planPolicy(
  before: RotationPolicy,
  changes: Partial<RotationPolicy>,
  { ring, limits }: { readonly ring: KeyRing; readonly limits: RotationLimits },
): ChangedPolicy {
  const policy = changed(before, changes)
  assertPolicy(policy, limits, before)
  const decidesAlgorithm = changes.config !== undefined || (policy.enabled && !before.enabled)
  return { policy, warnings: decidesAlgorithm ? algorithmWarnings(algorithmOf(policy.config), ring) : [] }
}

function neverHappens(): never {
  throw new Error('a revocation that was given a replacement asks for one')
}
