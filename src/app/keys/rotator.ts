/**
 * Rotates keys as the policy says. Every replica runs a rotator, and none is the leader. The first one makes a step. The others
 * decide again under the lock, where "already done" is a normal outcome.
 */

import { webKeyResource } from '../../domain/audit-resources.ts'
import { DomainError, isOutage } from '../../domain/errors.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import { activeKey, assertDecryptable, assertRoom, unpublishedKeys } from '../../domain/keys/key-ring.ts'
import { blockedStep, type PlannedStep, plannedSteps, type RotationStep } from '../../domain/keys/rotation.ts'
import { planStep } from '../../domain/keys/rotation-plan.ts'
import type { RotationLimits } from '../../domain/keys/rotation-policy.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { KeyPairGenerator, KeyStore } from '../../domain/ports/keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { backoffMillis } from '../../domain/time.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import { repeat } from '../concurrency/repeat.ts'
import type { Replica } from '../replica/replica.ts'
import type { DecryptabilityCheck } from './decryptability-check.ts'

/** How often the rotator looks for a step that is due, in milliseconds. It looks at memory only. */
const LOOK_EVERY = 1000

/** The jitter between two looks, in milliseconds, so that replicas do not all generate a key for the same step. */
const MAX_JITTER = 500

/** The backoff after a look in which a step failed. `MAX_JITTER` comes on top. */
const RETRY = { first: 1000, longest: 5 * 60_000 }

export interface RotatorOptions {
  readonly store: Pick<KeyStore, 'update' | 'publish'>
  readonly generator: KeyPairGenerator
  readonly replica: Replica
  readonly decryptability: Pick<DecryptabilityCheck, 'checkInitialKeys'>
  readonly limits: RotationLimits
  readonly clock: Clock
  readonly now: () => Date
  readonly audit: Pick<AuditTrail, 'refuse'>
  readonly log: Log
}

export interface RotationStatus {
  readonly enabled: boolean
  readonly overdueSeconds: number
  readonly failures: number
}

/** Rotates until it is stopped. */
export function startRotator(options: RotatorOptions): {
  readonly status: () => RotationStatus
  readonly stop: () => Promise<void>
} {
  const { store, generator, replica, decryptability, limits, clock, now, audit, log } = options
  const throttle = new LogThrottle()
  let failuresInARow = 0
  /** No step is tried again before that, by the monotonic clock. */
  let retryAt = 0
  let failures = 0
  /** The initial keys that could not be opened when one of them was to sign. Another one is preferred to them. */
  let undecryptable: ReadonlySet<string> = new Set()
  let stopped = false

  /** The steps that are due, also one that will fail. A replica that is not current, or on a standby, leaves them to others. */
  const dueSteps = (): readonly PlannedStep[] => {
    if (!replica.isWritable()) return []
    const { ring, rotation } = replica.state
    const planned = plannedSteps(rotation, ring, { ...limits, undecryptable })
    return [...planned, blockedStep(rotation, ring, limits)]
      .filter((step) => step !== undefined)
      .filter(({ at }) => at <= now())
  }

  /**
   * Dates the publication of keys whose creator has not, because it died or its commit timed out. No backoff delays it, because
   * verifiers may know the key already.
   */
  const publish = async (): Promise<void> => {
    if (stopped || !replica.isWritable() || unpublishedKeys(replica.state.ring).length === 0) return
    try {
      await store.publish()
    } catch (error) {
      if (throttle.admits(String(error), clock.monotonic()))
        log.warn({ err: error }, 'the publication of web keys could not be dated')
      return
    }
    await replica.refreshOrLog()
  }

  const make = async (wanted: RotationStep): Promise<void> => {
    if (wanted.kind === 'create') assertRoom(replica.state.ring, limits.maxWebKeys)
    if (wanted.kind === 'activate') {
      // A key that cannot be decrypted must not replace one that signs.
      undecryptable = await decryptability.checkInitialKeys()
      assertDecryptable(wanted, { undecryptable })
    }
    const pair = wanted.kind === 'create' ? await generator.generate(wanted.config, 'high') : undefined
    const keyId = 'keyId' in wanted ? wanted.keyId : (pair?.keyId ?? '')
    const entry = { ...SYSTEM, action: `rotation/${wanted.kind}`, resource: webKeyResource(keyId) }
    const made = await store.update(entry, (ring, now, rotation) =>
      planStep(rotation, ring, { wanted, now, limits, pair, undecryptable }),
    )
    // The step is stored. What is missing here is in the log.
    await replica.refreshOrLog()
    await publish()
    if (made !== undefined) log.info({ keyId, step: made.kind }, 'the rotation of web keys went on')
  }

  const fail = ({ step, at }: PlannedStep, error: unknown): void => {
    failures += 1
    if (stopped) return
    log.error({ err: error, step: step.kind, due: at, failures }, 'a step of the rotation failed')
    // The step may be stored, with its audit event.
    if (error instanceof DomainError && error.code === 'change_outcome_unknown') return
    const resource = 'keyId' in step ? webKeyResource(step.keyId) : ''
    audit.refuse({ ...SYSTEM, action: `rotation/${step.kind}`, resource }, 'ROTATION_FAILED')
  }

  /** Dates publications, and makes the steps whose time has come, if there are any. */
  const look = async (): Promise<void> => {
    await publish()
    const steps = dueSteps()
    if (steps.length > 0 && clock.monotonic() < retryAt) return
    let failed = false
    for (const due of steps) {
      if (stopped) return
      try {
        await make(due.step)
      } catch (error) {
        fail(due, error)
        failed = true
        // The others would wait for the same database.
        if (isOutage(error)) break
      }
    }
    failuresInARow = failed ? failuresInARow + 1 : 0
    retryAt = failed ? clock.monotonic() + backoffMillis(failuresInARow, RETRY) : 0
  }

  const stopLooking = repeat(look, { clock, everyMillis: LOOK_EVERY, jitterMillis: MAX_JITTER, first: 'later' })
  return {
    status: () => {
      const { ring, rotation } = replica.state
      const { enabled, rotationIntervalSeconds } = rotation.policy
      const active = activeKey(ring)
      const age = active === undefined ? 0 : (now().getTime() - active.activatedAt.getTime()) / 1000
      return { enabled, overdueSeconds: enabled ? Math.max(0, age - rotationIntervalSeconds) : 0, failures }
    },
    stop: async () => {
      stopped = true
      await stopLooking()
    },
  }
}
