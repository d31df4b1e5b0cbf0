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

export class Rotator {
  readonly #options: RotatorOptions
  #failures = 0
  /** No step is tried again before that, by the monotonic clock. */
  #retryAt = 0
  readonly #throttle = new LogThrottle()
  #totalFailures = 0
  /** The initial keys that could not be opened when one of them was to sign. Another one is preferred to them. */
  #undecryptable: ReadonlySet<string> = new Set()
  #stopLooking = async () => {}
  #stopped = false

  constructor(options: RotatorOptions) {
    this.#options = options
  }

  start(): void {
    const { clock } = this.#options
    this.#stopLooking = repeat(() => this.#look(), {
      clock,
      everyMillis: LOOK_EVERY,
      jitterMillis: MAX_JITTER,
      first: 'later',
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#stopLooking()
  }

  get status(): { readonly enabled: boolean; readonly overdueSeconds: number; readonly failures: number } {
    const { ring, rotation } = this.#options.replica.state
    const { enabled, rotationIntervalSeconds } = rotation.policy
    const active = activeKey(ring)
    const age = active === undefined ? 0 : (this.#options.now().getTime() - active.activatedAt.getTime()) / 1000
    return {
      enabled,
      overdueSeconds: enabled ? Math.max(0, age - rotationIntervalSeconds) : 0,
      failures: this.#totalFailures,
    }
  }

  /** Dates publications, and makes the steps whose time has come, if there are any. */
  async #look(): Promise<void> {
    if (this.#due().length === 0) this.#failures = 0
    await this.#publish()
    const steps = this.#toMake()
    let failed = false
    for (const due of steps) {
      if (this.#stopped) return
      try {
        await this.#make(due.step)
      } catch (error) {
        this.#fail(due, error)
        failed = true
        // The others would wait for the same database.
        if (isOutage(error)) break
      }
    }
    if (failed) this.#backOff()
    else if (steps.length > 0) this.#failures = 0
  }

  /** The steps to make now: those that are due, unless one has failed shortly before. */
  #toMake(): readonly PlannedStep[] {
    const waits = this.#failures > 0 && this.#options.clock.monotonic() < this.#retryAt
    return waits ? [] : this.#due()
  }

  /** The steps that are due, also one that will fail. A replica that is not current, or on a standby, leaves them to others. */
  #due(): readonly PlannedStep[] {
    const { replica, limits, now } = this.#options
    if (!replica.isWritable()) return []
    const { ring, rotation } = replica.state
    const blocked = blockedStep(rotation, ring, limits)
    const planned = plannedSteps(rotation, ring, { ...limits, undecryptable: this.#undecryptable })
    const steps = [...planned, ...(blocked === undefined ? [] : [blocked])]
    return steps.filter(({ at }) => at <= now())
  }

  #hasUnpublished(): boolean {
    const { replica } = this.#options
    return replica.isWritable() && unpublishedKeys(replica.state.ring).length > 0
  }

  /**
   * Dates the publication of keys whose creator has not, because it died or its commit timed out. No backoff delays it, because
   * verifiers may know the key already.
   */
  async #publish(): Promise<void> {
    if (this.#stopped || !this.#hasUnpublished()) return
    const { store, replica, clock, log } = this.#options
    try {
      await store.publish()
    } catch (error) {
      if (this.#throttle.admits(String(error), clock.monotonic()))
        log.warn({ err: error }, 'the publication of web keys could not be dated')
      return
    }
    await replica.refreshOrLog()
  }

  async #make(wanted: RotationStep): Promise<void> {
    const { store, generator, replica, limits, log } = this.#options
    if (wanted.kind === 'create') assertRoom(replica.state.ring, limits.maxWebKeys)
    if (wanted.kind === 'activate') await this.#checkDecryptable(wanted.keyId)
    const pair = wanted.kind === 'create' ? await generator.generate(wanted.config, 'high') : undefined
    const keyId = 'keyId' in wanted ? wanted.keyId : (pair?.keyId ?? '')
    const entry = { ...SYSTEM, action: `rotation/${wanted.kind}`, resource: webKeyResource(keyId) }
    const made = await store.update(entry, (ring, now, rotation) =>
      planStep(rotation, ring, { wanted, now, limits, pair, undecryptable: this.#undecryptable }),
    )
    // The step is stored. What is missing here is in the log.
    await replica.refreshOrLog()
    await this.#publish()
    if (made !== undefined) log.info({ keyId, step: made.kind }, 'the rotation of web keys went on')
  }

  /** A key that cannot be decrypted must not replace one that signs. @throws {DomainError} `web_key_cannot_be_opened`. */
  async #checkDecryptable(keyId: string): Promise<void> {
    this.#undecryptable = await this.#options.decryptability.checkInitialKeys()
    assertDecryptable({ keyId }, { undecryptable: this.#undecryptable })
  }

  #backOff(): void {
    this.#failures += 1
    this.#retryAt = this.#options.clock.monotonic() + backoffMillis(this.#failures, RETRY)
  }

  #fail({ step, at }: PlannedStep, error: unknown): void {
    const { audit, log } = this.#options
    this.#totalFailures += 1
    if (this.#stopped) return
    log.error({ err: error, step: step.kind, due: at, failures: this.#totalFailures }, 'a step of the rotation failed')
    // The step may be stored, with its audit event.
    if (error instanceof DomainError && error.code === 'change_outcome_unknown') return
    const resource = 'keyId' in step ? webKeyResource(step.keyId) : ''
    audit.refuse({ ...SYSTEM, action: `rotation/${step.kind}`, resource }, 'ROTATION_FAILED')
  }
}
