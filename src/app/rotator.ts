/**
 * Rotates keys as the policy says, by itself. Every replica runs one, and none is the leader: who is first makes the step,
 * and for the others, who decide again under the lock, "somebody else did it" is a normal outcome.
 */
import { SYSTEM } from '../domain/audit.ts'
import { activeKey } from '../domain/key-ring.ts'
import type { KeyPairGenerator, KeyStore, Log } from '../domain/ports.ts'
import { nextStep, type PlannedStep, type RotationStep, rotationDue } from '../domain/rotation.ts'
import { planNextStep } from '../domain/rotation-plan.ts'
import type { RotationLimits } from '../domain/rotation-policy.ts'
import { webKeyResource } from './audit-resources.ts'
import type { AuditTrail } from './audit-trail.ts'
import type { Clock, Replica } from './replica.ts'

/** How often the next step is looked at, in milliseconds. It is a look at memory. */
const LOOK_EVERY = 1000

/** A replica waits up to so long before a step, at random, so that they do not all make a key for the same one. */
const MAX_HEAD_START = 500

const FIRST_RETRY = 1000
const LAST_RETRY = 5 * 60_000

/** What a rotator is made of. */
export interface RotatorOptions {
  readonly store: Pick<KeyStore, 'update'>
  readonly generator: KeyPairGenerator
  readonly replica: Replica
  readonly limits: RotationLimits
  readonly clock: Clock
  /** The time of the instance. */
  readonly now: () => Date
  readonly audit: Pick<AuditTrail, 'refuse'>
  readonly log: Log
}

export class Rotator {
  readonly #options: RotatorOptions
  #failures = 0
  #totalFailures = 0
  #cancel = () => {}
  #running: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: RotatorOptions) {
    this.#options = options
  }

  start(): void {
    this.#after(LOOK_EVERY)
  }

  /** Makes no more steps. The one under way is awaited. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#running
  }

  /** What an operator wants to know of the rotation. */
  get status(): { readonly enabled: boolean; readonly overdueSeconds: number; readonly failures: number } {
    const { ring, rotation } = this.#options.replica.status()
    const due = rotation.policy.enabled ? rotationDue(rotation, ring) : undefined
    const overdue = due === undefined ? 0 : this.#options.now().getTime() - due.getTime()
    return {
      enabled: rotation.policy.enabled,
      overdueSeconds: activeKey(ring) === undefined ? 0 : Math.max(0, overdue) / 1000,
      failures: this.#totalFailures,
    }
  }

  #after(milliseconds: number): void {
    if (this.#stopped) return
    this.#cancel = this.#options.clock.after(milliseconds, () => {
      this.#running = this.#look().then((pause) => this.#after(pause))
    })
  }

  /** Makes the step whose time has come, if there is one, and returns when to look again. */
  async #look(): Promise<number> {
    const { clock } = this.#options
    if (this.#due() === undefined) return LOOK_EVERY
    await new Promise<void>((resolve) => {
      const cancel = clock.after(Math.random() * MAX_HEAD_START, resolve)
      this.#cancel = () => {
        cancel()
        resolve()
      }
    })
    const due = this.#due()
    if (due === undefined || this.#stopped) return LOOK_EVERY
    try {
      await this.#make(due.step)
      this.#failures = 0
      return LOOK_EVERY
    } catch (error) {
      this.#fail(due, error)
      return Math.min(LAST_RETRY, FIRST_RETRY * 2 ** (this.#failures - 1))
    }
  }

  /** The step whose time has come. A replica that is out of touch leaves it to others. */
  #due(): PlannedStep | undefined {
    const { replica, limits, now } = this.#options
    if (!replica.isFresh()) return undefined
    const { ring, rotation } = replica.status()
    const next = nextStep(rotation, ring, limits)
    return next === undefined || next.at > now() ? undefined : next
  }

  async #make(wanted: RotationStep): Promise<void> {
    const { store, generator, replica, limits, log } = this.#options
    const pair = wanted.kind === 'create' ? await generator.generate(wanted.config) : undefined
    const keyId = 'keyId' in wanted ? wanted.keyId : (pair?.keyId ?? '')
    const entry = { ...SYSTEM, action: `rotation/${wanted.kind}`, resource: webKeyResource(keyId) }
    const done = await store.update(entry, (ring, now, rotation) => {
      const next = nextStep(rotation, ring, limits)
      // The step under the lock may be another one than the step in memory, and this entry is not about that one.
      const isWanted = next?.step.kind === wanted.kind && (!('keyId' in next.step) || next.step.keyId === keyId)
      return isWanted ? planNextStep(rotation, ring, { now, limits, pair }) : { steps: [], result: undefined }
    })
    await replica.refreshAfterWrite()
    if (done !== undefined) log.info({ keyId, step: done.kind }, 'the rotation of web keys went on')
  }

  #fail({ step, at }: PlannedStep, error: unknown): void {
    const { audit, log } = this.#options
    this.#failures += 1
    this.#totalFailures += 1
    if (this.#stopped) return
    log.error({ err: error, step: step.kind, due: at, failures: this.#failures }, 'a step of the rotation failed')
    const resource = 'keyId' in step ? webKeyResource(step.keyId) : ''
    audit.refuse({ ...SYSTEM, action: `rotation/${step.kind}`, resource }, 'ROTATION_FAILED')
  }
}
