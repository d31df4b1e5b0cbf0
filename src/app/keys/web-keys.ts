/**
 * The use cases of web keys: create, activate, list, delete (Spec §4.3), and their rotation: out of turn, after a leak, the policy and what comes
 * next.
 *
 * Key pairs are generated before the store is locked. Each change is visible on this replica when the call returns, and
 * is an event of the audit trail.
 */
import { ROTATION_POLICY, WEB_KEYS, webKeyResource } from '../../domain/audit-resources.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import { algorithmOf, type WebKeyConfig } from '../../domain/keys/key-algorithm.ts'
import {
  type Activation,
  type ActivationGuard,
  assertRoom,
  type KeyRing,
  noSuchKey,
  planActivation,
  planCreation,
  planDeletion,
  planDiscard,
  type SealedKeyPair,
} from '../../domain/keys/key-ring.ts'
import { planRevocation, type Revocation, type RevocationOptions, revocationOf } from '../../domain/keys/revocation.ts'
import type { PlannedStep, Rotation } from '../../domain/keys/rotation.ts'
import { planRequestedRotation, type RequestedRotation, schedule } from '../../domain/keys/rotation-plan.ts'
import { assertPolicy, changed, type RotationLimits, type RotationPolicy } from '../../domain/keys/rotation-policy.ts'
import type { RevokedWebKey, WebKey } from '../../domain/keys/web-key.ts'
import type { InstanceReader } from '../../domain/ports/instance.ts'
import type { KeyChange, KeyPairGenerator, KeyStore } from '../../domain/ports/keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Replica } from '../replica/replica.ts'
import type { DecryptabilityCheck } from './decryptability-check.ts'

export interface WebKeysOptions {
  readonly store: KeyStore
  readonly reader: InstanceReader
  readonly generator: KeyPairGenerator
  readonly replica: Replica
  readonly decryptability: Pick<DecryptabilityCheck, 'checkKey' | 'checkInitialKeys'>
  readonly activationGuard: ActivationGuard
  readonly limits: RotationLimits
  readonly now: () => Date
  readonly log: Log
}

export interface CreatedWebKey {
  readonly key: WebKey
  /** What is known to fail at verifiers, if it is the first of its algorithm; see `algorithmWarnings`. */
  readonly warnings: readonly string[]
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

export type WebKeys = ReturnType<typeof createWebKeys>

/**
 * Every method throws {DomainError}: the codes of its plan, and `storage_unavailable`;
 * what changes something also `change_outcome_unknown` and `change_not_in_force`.
 */
export function createWebKeys(options: WebKeysOptions) {
  const { store, reader, generator, replica, decryptability, activationGuard: guard, limits, now, log } = options
  const { maxWebKeys, jwksMaxAgeSeconds } = limits
  /** That are being generated, by the key that is revoked: concurrent revocations of it share one. */
  const replacements = new Map<string, Promise<SealedKeyPair>>()

  const change = <T>(
    actor: Actor,
    resource: string,
    decide: (ring: KeyRing, now: Date, rotation: Rotation) => KeyChange<T>,
  ): Promise<T> => replica.inForce(store.update({ ...actor, resource }, decide))

  /** All web keys, oldest first, as the database has them. */
  const list = async (): Promise<KeyRing> => (await reader.load()).ring

  /** The key is there, so a failure is only logged. The rotator of some replica does it within seconds. */
  const publish = async (): Promise<void> => {
    try {
      await store.publish()
      await replica.refreshOrLog()
    } catch (error) {
      log.warn({ err: error }, 'the publication of a web key could not be dated, which is tried again')
    }
  }

  const revoke = async (
    actor: Actor,
    keyId: string,
    options: Pick<RevocationOptions, 'undecryptable' | 'replacement'>,
  ): Promise<Revocation> => {
    const result = await store.update<Revocation | WebKeyConfig>(
      { ...actor, resource: webKeyResource(keyId) },
      (ring, now, { policy: { config } }) =>
        planRevocation(ring, keyId, { ...options, now, jwksMaxAgeSeconds, config }) ?? { steps: [], result: config },
    )
    if ('kind' in result) {
      // Keys are never generated under the lock, and a replacement is rarely needed.
      const generate = () => generator.generate(result, 'high')
      const running = replacements.get(keyId) ?? generate().finally(() => replacements.delete(keyId))
      replacements.set(keyId, running)
      return revoke(actor, keyId, { ...options, replacement: await running })
    }
    const { active, trustedUntil } = result
    log.warn({ keyId, activeKeyId: active?.keyId, trustedUntil }, 'web key revoked')
    return result
  }

  /** What an earlier revocation of the key has led to. @throws {Error} that of this one, if there was none. */
  const revocationBefore = async (keyId: string, error: unknown): Promise<Revocation> => {
    const isGone = error instanceof DomainError && error.code === 'web_key_not_found'
    const key = isGone ? await store.findRevoked(keyId) : undefined
    if (key === undefined) throw error
    return revocationOf(key, { ring: await list(), jwksMaxAgeSeconds })
  }

  return {
    list,
    listRevoked: (): Promise<readonly RevokedWebKey[]> => store.listRevoked(),

    /**
     * Creates an initial key, and dates its publication once this replica serves it. The first of its algorithm is warned about.
     * @param signal Once it is aborted nothing is stored, because no caller would learn of the key.
     * @throws {DomainError} also `key_generation_busy`; the reason of the signal.
     */
    async create(actor: Actor, config: WebKeyConfig, signal: AbortSignal): Promise<CreatedWebKey> {
      // Asked before as well, so that a full ring does not cost the generation of a key pair.
      assertRoom(await list(), maxWebKeys)
      const pair = await generator.generate(config)
      signal.throwIfAborted()
      const { key, warnings } = await change(actor, webKeyResource(pair.keyId), (ring, now) => {
        const plan = planCreation(ring, pair, { now, maxWebKeys })
        return { ...plan, result: { key: plan.result, warnings: algorithmWarnings(pair.algorithm, ring) } }
      })
      const { keyId, algorithm } = key
      log.info({ keyId, algorithm }, 'web key created')
      if (warnings.length > 0)
        log.warn({ keyId, algorithm, warnings }, 'the first web key of its algorithm was created')
      await publish()
      return { key: replica.state.ring.find((served) => served.keyId === keyId) ?? key, warnings }
    },

    /** Makes a key the one that signs. Activating the active key changes nothing. */
    async activate(actor: Actor, keyId: string): Promise<Activation> {
      // Before the lock, so that no other change waits for the check.
      const undecryptable = await decryptability.checkKey(keyId)
      const result = await change(actor, webKeyResource(keyId), (ring, now) =>
        planActivation(ring, keyId, { guard, jwksMaxAgeSeconds, now, undecryptable }),
      )
      const { key, knownFrom } = result
      log.info({ keyId, algorithm: key.algorithm }, 'web key activated')
      if (knownFrom !== undefined) log.warn({ keyId, knownFrom }, 'web key activated before every verifier can know it')
      return result
    },

    /** @throws {DomainError} `web_key_not_found`. */
    async get(keyId: string): Promise<WebKey | RevokedWebKey> {
      const published = (await list()).find((key) => key.keyId === keyId)
      const key = published ?? (await store.findRevoked(keyId))
      if (key === undefined) throw noSuchKey(keyId)
      return key
    },

    /** Deletes an inactive key and returns when. */
    async delete(actor: Actor, keyId: string): Promise<Date> {
      const deletedAt = await change(actor, webKeyResource(keyId), (ring, now) => planDeletion(ring, keyId, { now }))
      log.info({ keyId }, 'web key deleted')
      return deletedAt
    },

    /** Deletes a key that is not active and returns when; undefined if there is no such key. */
    async discard(actor: Actor, keyId: string): Promise<Date | undefined> {
      const deletedAt = await change(actor, webKeyResource(keyId), (ring, now) => planDiscard(ring, keyId, { now }))
      if (deletedAt !== undefined) log.info({ keyId }, 'web key deleted')
      return deletedAt
    },

    /** Rotates out of turn: at once if the standby is known everywhere, or as soon as it is. */
    async rotate(actor: Actor): Promise<RequestedRotation> {
      const undecryptable = await decryptability.checkInitialKeys()
      const result = await change(actor, WEB_KEYS, (ring, now, rotation) => {
        const plan = planRequestedRotation(rotation, ring, { now, limits, undecryptable })
        const { done, key } = plan.result
        return done && key !== undefined ? { ...plan, resource: webKeyResource(key.keyId) } : plan
      })
      const { done, doneAt, key } = result
      log.info({ done, doneAt, keyId: key?.keyId }, 'a rotation of web keys was asked for')
      return result
    },

    /**
     * Stops trusting a key at once. It is idempotent: for a revoked key, the result is the same again.
     *
     * If a new key has to take over, its generation neither waits behind `CreateWebKey` nor needs room in the key ring.
     */
    async revoke(actor: Actor, keyId: string): Promise<Revocation> {
      const undecryptable = await decryptability.checkInitialKeys()
      const revocation = revoke(actor, keyId, { undecryptable, replacement: undefined })
      return replica.inForce(revocation.catch((error) => revocationBefore(keyId, error)))
    },

    policy: async (): Promise<RotationPolicy> => (await reader.load()).rotation.policy,

    /**
     * Changes the policy. An algorithm that no key of the ring has is warned about when it is set, and when rotation is switched on.
     * @throws {DomainError} `rotation_policy_invalid`.
     */
    async changePolicy(actor: Actor, changes: Partial<RotationPolicy>): Promise<ChangedPolicy> {
      const result = await change(actor, ROTATION_POLICY, (ring, _now, rotation) => {
        const { policy: before } = rotation
        const result = planPolicy(before, changes, { ring, limits })
        const { policy } = result
        return { steps: [], rotation: policy === before ? rotation : { ...rotation, policy }, result }
      })
      const { policy, warnings } = result
      log.info({ policy }, 'the rotation policy was changed')
      if (warnings.length > 0)
        log.warn({ warnings }, 'the rotation policy makes web keys of an algorithm that there is none of')
      return result
    },

    /**
     * The steps that follow if no administrator interferes, in order.
     * @param changes Settings of the policy to plan with, as `changePolicy` would set them. Nothing is stored.
     * @throws {DomainError} `rotation_policy_invalid`.
     */
    async schedule(count: number, changes: Partial<RotationPolicy> = {}): Promise<Schedule> {
      const { ring, rotation } = await reader.load()
      const { policy, warnings } = planPolicy(rotation.policy, changes, { ring, limits })
      return { steps: schedule({ ...rotation, policy }, ring, { now: now(), limits, count }), warnings }
    },
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
