/**
 * Ten years of rotation in the domain alone: the clock, the failures, the replicas that are behind, the people who interfere and
 * the verifiers who cache are made up; every decision is the real one.
 *
 * What must be true of each life is in `rotation-invariants.ts`.
 */
import fc from 'fast-check'
import { DomainError } from '../../../../src/domain/errors.ts'
import type { WebKeyConfig } from '../../../../src/domain/keys/key-algorithm.ts'
import {
  type KeyRing,
  type KeyRingStep,
  planActivation,
  planCreation,
  planPublication,
  type SealedKeyPair,
} from '../../../../src/domain/keys/key-ring.ts'
import { planRevocation } from '../../../../src/domain/keys/revocation.ts'
import { nextStep, plannedSteps, type Rotation, type RotationStep } from '../../../../src/domain/keys/rotation.ts'
import { planRequestedRotation, planStep } from '../../../../src/domain/keys/rotation-plan.ts'
import type { RotationLimits, RotationPolicy } from '../../../../src/domain/keys/rotation-policy.ts'
import { after, earliest, latest } from '../../../../src/domain/time.ts'
import { applySteps } from './apply-steps.ts'

export const DAY = 86_400
export const START = new Date(Date.UTC(2030, 0, 1))
export const END = after(START, 3650 * DAY)

const CONFIGS: readonly WebKeyConfig[] = [
  { kind: 'rsa', bits: 2048, hasher: 'sha256' },
  { kind: 'rsa', bits: 3072, hasher: 'sha256' },
  { kind: 'ecdsa', curve: 'P-256' },
  { kind: 'ed25519' },
]

/** How long a replica that reaches the database takes to hear of a change, at most, in seconds. */
export const LAG = 1

/** The longest that a commit hangs, and that a key which can be seen goes undated, in seconds. */
const MAX_HANG = 2_000
const MAX_UNDATED = 600

/** What an administrator does by hand. */
type Intervention = 'create' | 'activate' | 'roll back' | 'revoke' | 'rotate' | 'change kind'

/** Another replica, which does what it thinks is due when something happens, without knowing of that. */
interface Latecomer {
  /** How old the newest change is that it may know, in seconds. 0: it knows all but what happens at this moment. */
  readonly behind: number
  /** How long after the event it gets the lock, in seconds. undefined: at the same moment, but before. */
  readonly later: number | undefined
}

/** What happens in ten years, beside what the policy does. */
export interface Life {
  readonly policy: RotationPolicy
  readonly limits: RotationLimits
  /** How late each step is made, in seconds: replicas that are down, failures that are backed off. */
  readonly delays: readonly number[]
  /** Who else acts, each time that something happens. */
  readonly latecomers: readonly (Latecomer | undefined)[]
  /** The days between what people do, and what it is. Without days: at the moment of the next step of the policy. */
  readonly interventions: readonly { readonly days: number | undefined; readonly what: Intervention }[]
  /** For how long the commit of each change that makes a key hangs, in seconds: no replica sees the key until it ends. */
  readonly hangs: readonly number[]
  /** How long after it is seen each key is dated as published, in seconds: at once by its creator, or later by others. */
  readonly publications: readonly number[]
}

/** One moment of the ring, and why it changed. */
export interface Change {
  readonly at: Date
  readonly ring: KeyRing
  readonly by: 'policy' | 'publication' | Intervention
}

export const lives: fc.Arbitrary<Life> = fc
  .record({
    jwksMaxAgeSeconds: fc.constantFrom(0, 1, 300, DAY),
    tokenLifetimeSeconds: fc.constantFrom(1, 3600, DAY),
    maxStalenessSeconds: fc.constantFrom(1, 300, DAY),
    maxWebKeys: fc.constant(50),
  })
  .chain((limits) =>
    fc.record({
      limits: fc.constant(limits),
      policy: policies(limits),
      delays: fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(20_000) }), {
        minLength: 50,
        maxLength: 50,
      }),
      latecomers: fc.array(fc.option(latecomers(limits), { nil: undefined, freq: 3 }), {
        minLength: 47,
        maxLength: 47,
      }),
      interventions: fc.array(
        fc.record({
          days: fc.option(fc.integer({ min: 0, max: 120 }), { nil: undefined, freq: 2 }),
          what: fc.constantFrom<Intervention>('create', 'activate', 'roll back', 'revoke', 'rotate', 'change kind'),
        }),
        { maxLength: 60 },
      ),
      hangs: fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(MAX_HANG) }), {
        minLength: 23,
        maxLength: 23,
      }),
      publications: fc.array(
        fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(MAX_UNDATED) }),
        { minLength: 19, maxLength: 19 },
      ),
    }),
  )

function latecomers({ maxStalenessSeconds }: RotationLimits): fc.Arbitrary<Latecomer> {
  return fc.oneof(fc.constant(0), fc.nat(maxStalenessSeconds), fc.constant(maxStalenessSeconds)).chain((behind) =>
    fc.record({
      behind: fc.constant(behind),
      later: fc.oneof(fc.constant(undefined), fc.constant(0), fc.nat(behind)),
    }),
  )
}

function policies(limits: RotationLimits): fc.Arbitrary<RotationPolicy> {
  const { jwksMaxAgeSeconds: cached, tokenLifetimeSeconds } = limits
  return fc
    .record({
      config: fc.constantFrom(...CONFIGS),
      ahead: fc.constantFrom(cached, cached + 10, 3 * DAY, 7 * DAY),
      interval: fc.constantFrom(10 * DAY, 30 * DAY, 90 * DAY),
      retention: fc.constantFrom(tokenLifetimeSeconds + cached, 7 * DAY, 30 * DAY),
      rollbackWindowSeconds: fc.constantFrom(0, DAY, 7 * DAY),
      keepStandby: fc.boolean(),
    })
    .map(({ config, ahead, interval, retention, rollbackWindowSeconds, keepStandby }) => ({
      enabled: true,
      config,
      rotationIntervalSeconds: interval,
      publishAheadSeconds: Math.max(ahead, cached),
      retentionSeconds: Math.max(retention, tokenLifetimeSeconds + cached),
      rollbackWindowSeconds,
      keepStandby,
    }))
}

/** Makes one more pair. */
type PairMaker = (config: WebKeyConfig) => SealedKeyPair

/** A pair without key material. @param number Unique in one life. */
function numberedPair(config: WebKeyConfig, number: number): SealedKeyPair {
  const named = { keyId: `key-${number}`, sealedPrivateKey: 'sealed' }
  switch (config.kind) {
    case 'rsa':
      return {
        ...named,
        algorithm: 'RS256',
        publicJwk: { kty: 'RSA', n: 'A'.repeat(Math.ceil(config.bits / 6)), e: 'AQAB' },
      }
    case 'ecdsa':
      return { ...named, algorithm: 'ES256', publicJwk: { kty: 'EC', crv: config.curve, x: '', y: '' } }
    case 'ed25519':
      return { ...named, algorithm: 'EdDSA', publicJwk: { kty: 'OKP', crv: 'Ed25519', x: '' } }
  }
}

/** Lives through ten years and returns what the ring was, from the beginning on. */
export function live({ policy, limits, delays, latecomers, interventions, hangs, publications }: Life): Change[] {
  let rotation: Rotation = { policy, requestedAt: null }
  let now = START
  let ring: KeyRing = []
  const history: Change[] = []
  // The same life always makes the same history.
  let made = 0
  const pairOf: PairMaker = (config) => {
    made += 1
    return numberedPair(config, made)
  }
  let publishAt: Date | undefined
  const change = (steps: readonly KeyRingStep[], by: Change['by']) => {
    if (steps.length === 0) return
    ring = applySteps(ring, steps)
    // The lock is held until the commit ends, so nothing else happens meanwhile.
    if (steps.some(({ kind }) => kind === 'add')) {
      now = after(now, hangs[made % hangs.length] ?? 0)
      publishAt ??= after(now, publications[made % publications.length] ?? 0)
    }
    history.push({ at: now, ring, by })
  }

  // As an instance is initialised: one key, active from the beginning.
  const first = planCreation([], pairOf(policy.config), { now, maxWebKeys: limits.maxWebKeys })
  const activation = planActivation([first.result], first.result.keyId, { guard: 'off', jwksMaxAgeSeconds: 0, now })
  ring = applySteps([first.result], activation.steps)
  history.push({ at: now, ring, by: 'create' })

  // What a replica that is behind knows: everything before a moment.
  const states = [{ at: now, rotation, ring }]
  const dueSteps = (state: { rotation: Rotation; ring: KeyRing }): RotationStep[] =>
    plannedSteps(state.rotation, state.ring, limits)
      .filter(({ at }) => at <= now)
      .map(({ step }) => step)
  const actOn = (wanted: readonly RotationStep[]) => {
    for (const step of wanted) {
      const pair = step.kind === 'create' ? pairOf(step.config) : undefined
      change(planStep(rotation, ring, { wanted: step, now, limits, pair }).steps, 'policy')
    }
  }
  const actLate = ({ behind }: Latecomer) => {
    const known = states.findLast(({ at }) => at < after(now, -behind)) ?? states[0]
    if (known !== undefined) actOn(dueSteps(known))
  }

  const people = interventions.values()
  let person = people.next().value
  let lastPersonAt = now
  let late: { readonly at: Date; readonly latecomer: Latecomer } | undefined
  // A step that is held up is held up once, whatever happens meanwhile.
  let heldUp = { step: '', until: now }
  for (let turn = 0; ; turn += 1) {
    const next = nextStep(rotation, ring, limits)
    const step = JSON.stringify(next)
    if (heldUp.step !== step) {
      const due = next === undefined ? END : latest(now, next.at)
      heldUp = { step, until: after(due, delays[turn % delays.length] ?? 0) }
    }
    const stepAt = latest(now, heldUp.until)
    const personAt = person?.days === undefined ? stepAt : after(lastPersonAt, person.days * DAY + 1)
    const eventAt = earliest(stepAt, personAt, late?.at ?? END, publishAt ?? END)
    if (eventAt >= END) break
    // What was to happen while a commit hung happens after it.
    now = latest(now, eventAt)
    if (publishAt !== undefined && eventAt.getTime() === publishAt.getTime()) {
      publishAt = undefined
      change(planPublication(ring, { now }).steps, 'publication')
      states.push({ at: now, rotation, ring })
      continue
    }
    if (late !== undefined && eventAt.getTime() === late.at.getTime()) {
      actLate(late.latecomer)
      late = undefined
      states.push({ at: now, rotation, ring })
      continue
    }
    const latecomer = latecomers[turn % latecomers.length]
    if (latecomer !== undefined && latecomer.later === undefined) actLate(latecomer)
    if (person !== undefined && eventAt.getTime() === personAt.getTime()) {
      const { what } = person
      try {
        const outcome = intervene(what, { rotation, ring, limits, now, pairOf })
        rotation = outcome.rotation
        change(outcome.steps, what)
      } catch (error) {
        // People are refused what would break a verifier, and live with it.
        if (!(error instanceof DomainError)) throw error
      }
      person = people.next().value
      lastPersonAt = now
    } else {
      if (next === undefined) throw new Error('nothing is to be done any more')
      // Perhaps another replica has just done it.
      actOn([next.step])
      const left = dueSteps({ rotation, ring }).map((step) => JSON.stringify(step))
      if (left.includes(JSON.stringify(next.step))) throw new Error(`${step} was not made`)
    }
    if (latecomer?.later !== undefined) late = { at: after(now, latecomer.later), latecomer }
    states.push({ at: now, rotation, ring })
  }
  return history
}

/** What an intervention finds. */
interface Situation {
  readonly rotation: Rotation
  readonly ring: KeyRing
  readonly limits: RotationLimits
  readonly now: Date
  readonly pairOf: PairMaker
}

function intervene(
  what: Intervention,
  { rotation, ring, limits, now, pairOf }: Situation,
): { steps: readonly KeyRingStep[]; rotation: Rotation } {
  const { jwksMaxAgeSeconds, maxWebKeys } = limits
  // The guard waits for the cache time; a careful administrator waits for what replicas need as well.
  const rules = { guard: 'enforce', jwksMaxAgeSeconds: jwksMaxAgeSeconds + LAG, now } as const
  const named = (state: string) => ring.find((key) => key.state === state)?.keyId ?? 'nothing'
  switch (what) {
    case 'create':
      return { rotation, ...planCreation(ring, pairOf({ kind: 'ed25519' }), { now, maxWebKeys }) }
    case 'activate':
      return { rotation, ...planActivation(ring, named('initial'), rules) }
    case 'roll back':
      return { rotation, ...planActivation(ring, named('inactive'), rules) }
    case 'revoke': {
      const replacement = pairOf(rotation.policy.config)
      const plan = planRevocation(ring, named('active'), { now, jwksMaxAgeSeconds, replacement })
      return { rotation, steps: plan?.steps ?? [] }
    }
    case 'rotate':
      return planRequestedRotation(rotation, ring, { now, limits })
    case 'change kind': {
      const kinds = CONFIGS.map((config) => JSON.stringify(config))
      const at = kinds.indexOf(JSON.stringify(rotation.policy.config))
      const config = CONFIGS[(at + 1) % CONFIGS.length] ?? rotation.policy.config
      return { rotation: { ...rotation, policy: { ...rotation.policy, config } }, steps: [] }
    }
  }
}
