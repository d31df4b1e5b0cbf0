/**
 * Ten years of rotation, many times over, in the domain alone: the clock, the failures, the replicas that are behind, the
 * people who interfere and the verifiers who cache are made up; every decision is the real one.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { DomainError } from '../../../../src/domain/errors.ts'
import { configOf, isSameConfig, type WebKeyConfig } from '../../../../src/domain/keys/key-algorithm.ts'
import {
  activeKey,
  type KeyRing,
  planActivation,
  planCreation,
  planPublication,
  planRevocation,
  type SealedKeyPair,
} from '../../../../src/domain/keys/key-ring.ts'
import type { KeyRingStep } from '../../../../src/domain/keys/key-ring-step.ts'
import { nextStep, plannedSteps, type Rotation, type RotationStep } from '../../../../src/domain/keys/rotation.ts'
import { planRequestedRotation, planStep } from '../../../../src/domain/keys/rotation-plan.ts'
import {
  assertPolicy,
  type RotationLimits,
  type RotationPolicy,
  timesOf,
} from '../../../../src/domain/keys/rotation-policy.ts'
import { after, earliest, latest } from '../../../../src/domain/time.ts'
import { applySteps } from './apply-steps.ts'

const DAY = 86_400
const START = new Date(Date.UTC(2030, 0, 1))
const END = after(START, 3650 * DAY)
const RUNS = 60

const CONFIGS: readonly WebKeyConfig[] = [
  { kind: 'rsa', bits: 2048, hasher: 'sha256' },
  { kind: 'rsa', bits: 3072, hasher: 'sha256' },
  { kind: 'ecdsa', curve: 'P-256' },
  { kind: 'ed25519' },
]

/** How long a replica that reaches the database takes to hear of a change, at most, in seconds. */
const LAG = 1

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

interface Life {
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
interface Change {
  readonly at: Date
  readonly ring: KeyRing
  readonly by: 'policy' | 'publication' | Intervention
}

const lives: fc.Arbitrary<Life> = fc
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

let made = 0
function pairOf(config: WebKeyConfig): SealedKeyPair {
  made += 1
  const named = { keyId: `key-${made}`, sealedPrivateKey: 'sealed' }
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
function live({ policy, limits, delays, latecomers, interventions, hangs, publications }: Life): Change[] {
  let rotation: Rotation = { policy, requestedAt: null }
  let now = START
  let ring: KeyRing = []
  const history: Change[] = []
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
        const outcome = intervene(what, { rotation, ring, limits, now })
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

function intervene(
  what: Intervention,
  { rotation, ring, limits, now }: { rotation: Rotation; ring: KeyRing; limits: RotationLimits; now: Date },
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

/** How many changes there were until a moment, by a binary search: those of ten years are in order, and many. */
function countUntil(history: readonly Change[], moment: Date): number {
  let [from, to] = [0, history.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (history[middle]!.at <= moment) from = middle + 1
    else to = middle
  }
  return from
}

/** The ring as it was at a moment; before the beginning, as it was then. */
function ringAt(history: readonly Change[], moment: Date): KeyRing {
  return history[Math.max(countUntil(history, moment) - 1, 0)]?.ring ?? []
}

const has = (ring: KeyRing, keyId: string) => ring.some((key) => key.keyId === keyId)
const secondsBetween = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000

/** The same life without failures and without people. Replicas that are behind are part of it. */
function undisturbed(life: Life): Life {
  return { ...life, delays: [0], interventions: [], hangs: [0], publications: [0] }
}

/** The same life without requests for a rotation out of turn. */
function withoutRequests(life: Life): Life {
  return { ...life, interventions: life.interventions.filter(({ what }) => what !== 'rotate') }
}

/** How old a copy of the ring may be that a verifier uses: the cache time, and what the replica it came from lagged. */
function oldestCopy({ policy, limits }: Life): number {
  const { jwksMaxAgeSeconds: cached, maxStalenessSeconds } = limits
  // A replica that is cut off publishes what it knows for that long. A policy may be in more of a hurry than that.
  return Math.max(cached + LAG, Math.min(policy.publishAheadSeconds, cached + maxStalenessSeconds))
}

describe('ten years of rotation', () => {
  const seed = Number(process.env.KEYTURN_TEST_SEED ?? Date.now() % 2 ** 31)
  process.stdout.write(`ten years of rotation: KEYTURN_TEST_SEED=${seed}\n`)
  const everyLife = (
    check: (life: Life, history: readonly Change[]) => void,
    changed: (life: Life) => Life = (life) => life,
  ) =>
    fc.assert(
      fc.property(lives.map(changed), (life) => {
        assertPolicy(life.policy, life.limits)
        check(life, live(life))
      }),
      { seed, numRuns: RUNS },
    )

  it('never has two active keys and never none [Spec §3]', () => {
    everyLife((_, history) => {
      expect(history.filter(({ ring }) => ring.filter(({ state }) => state === 'active').length !== 1)).toEqual([])
    })
  })

  it('never signs with a key that the oldest copy of the key set in use does not have [Spec §8]', () => {
    everyLife((life, history) => {
      for (const [index, { at, ring, by }] of history.entries()) {
        const active = activeKey(ring)
        if (index === 0 || active === undefined || activeKey(history[index - 1]?.ring ?? [])?.keyId === active.keyId)
          continue
        // After a leak a key that is not known everywhere is better than one that an attacker knows.
        if (by === 'revoke') continue
        const age = by === 'policy' || by === 'rotate' ? oldestCopy(life) : life.limits.jwksMaxAgeSeconds + LAG
        expect(has(ringAt(history, after(at, -age)), active.keyId)).toBe(true)
      }
    })
  })

  it('publishes a key for as long as a token lives that it signed, unless it was revoked [Spec §4.3]', () => {
    everyLife(({ limits }, history) => {
      for (const [index, { at, ring, by }] of history.entries()) {
        const signed = activeKey(history[index - 1]?.ring ?? [])
        if (signed === undefined || activeKey(ring)?.keyId === signed.keyId || by === 'revoke') continue
        // The last replica to hear of the change signs on until it does, or may not go on without the database any longer;
        // its token lives from then on.
        const signsOn = Math.max(LAG, limits.maxStalenessSeconds)
        const dead = earliest(after(at, signsOn + limits.tokenLifetimeSeconds), END)
        const during = history.slice(index + 1, countUntil(history, dead))
        const revoked = during.find((change) => change.by === 'revoke' && !has(change.ring, signed.keyId))
        if (revoked !== undefined) continue
        expect(during.filter((change) => !has(change.ring, signed.keyId))).toEqual([])
      }
    })
  })

  it('rotates on time, whatever else happens: no later than failures and a change of the kind of key make it', () => {
    everyLife((life, history) => {
      const { interval, known } = timesOf(life.policy, life.limits)
      const late = Math.max(...life.delays) + Math.max(...life.hangs) + Math.max(...life.publications)
      for (const [index, { at, ring, by }] of history.entries()) {
        const before = activeKey(history[index - 1]?.ring ?? [])
        if (before === undefined || activeKey(ring)?.keyId === before.keyId || by !== 'policy') continue
        // Each step may be late and holds up the next one, and a kind that is changed at the last moment has to become known.
        expect(secondsBetween(before.activatedAt, at)).toBeLessThanOrEqual(interval + known + 4 * late)
      }
      const last = activeKey(history.at(-1)?.ring ?? [])
      expect(secondsBetween(last?.activatedAt ?? START, END)).toBeLessThanOrEqual(interval + known + 4 * late)
    })
  })

  it('rotates to the second when nothing fails and no administrator interferes', () => {
    everyLife((life, history) => {
      const activations = history.filter(
        ({ ring }, index) => activeKey(ring)?.keyId !== activeKey(history[index - 1]?.ring ?? [])?.keyId,
      )
      expect(activations.length).toBe(Math.floor(3650 / (life.policy.rotationIntervalSeconds / DAY) + 1 - 1e-9))
      for (const [index, { at }] of activations.entries()) {
        expect(secondsBetween(START, at)).toBe(index * life.policy.rotationIntervalSeconds)
      }
    }, undisturbed)
  })

  it('does nothing twice when several replicas want the same, or want what another has just made needless', () => {
    everyLife(({ policy }, history) => {
      for (const [index, { at, ring, by }] of history.entries()) {
        const before = history[index - 1]?.ring ?? []
        const signed = activeKey(before)
        const signs = activeKey(ring)
        if (by !== 'policy' || signed === undefined || signs === undefined) continue
        const made = ring.filter(({ keyId }) => !has(before, keyId))
        for (const { algorithm, publicJwk } of made) {
          const isSameKind = (key: KeyRing[number]) =>
            isSameConfig(configOf(key.algorithm, key.publicJwk), configOf(algorithm, publicJwk))
          expect(before.filter((key) => key.state === 'initial' && isSameKind(key))).toEqual([])
        }
        if (signs.keyId === signed.keyId) continue
        expect(secondsBetween(signed.activatedAt, at)).toBeGreaterThanOrEqual(policy.rotationIntervalSeconds)
      }
    }, withoutRequests)
  })

  it('never changes the kind of key by itself, whatever keys people make by hand', () => {
    everyLife(
      ({ policy }, history) => {
        for (const [index, { ring, by }] of history.entries()) {
          if (by !== 'policy') continue
          const before = history[index - 1]?.ring ?? []
          const made = ring.filter(({ keyId }) => !has(before, keyId))
          const promoted = ring.filter(({ keyId, state }) => state === 'active' && activeKey(before)?.keyId !== keyId)
          for (const { algorithm, publicJwk } of [...made, ...promoted]) {
            expect(configOf(algorithm, publicJwk)).toEqual(policy.config)
          }
        }
      },
      (life) => ({ ...life, interventions: life.interventions.filter(({ what }) => what !== 'change kind') }),
    )
  })

  it('always has a standby that verifiers know, if one is wanted, a while after each change', () => {
    everyLife(
      (life, history) => {
        const { ahead } = timesOf(life.policy, life.limits)
        for (const { at, ring, by } of history) {
          if (by !== 'policy' || ring.some(({ state }) => state === 'initial')) continue
          const soon = ringAt(history, after(at, Math.min(ahead, 3600)))
          if (after(at, 3600) < END) expect(soon.some(({ state }) => state === 'initial')).toBe(true)
        }
      },
      (life) => undisturbed({ ...life, policy: { ...life.policy, keepStandby: true } }),
    )
  })

  it('destroys private keys when they cannot be wanted any more, and leaves no key behind', () => {
    everyLife((life, history) => {
      const { retention, rollback } = timesOf(life.policy, life.limits)
      const wrong = history.filter(({ at, ring }) =>
        ring.some((key) => {
          if (!isSameConfig(configOf(key.algorithm, key.publicJwk), life.policy.config)) return true
          if (key.state !== 'inactive') return false
          const idle = secondsBetween(key.deactivatedAt, at)
          return idle > retention || (idle > rollback && rollback < retention && key.hasPrivateKey)
        }),
      )
      expect(wrong).toEqual([])
    }, undisturbed)
  })
})
