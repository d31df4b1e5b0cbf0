import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { algorithmOf } from '../../../../src/domain/keys/key-algorithm.ts'
import { activeKey, type KeyRing, planPublication } from '../../../../src/domain/keys/key-ring.ts'
import { nextStep, type PlannedStep, type Rotation } from '../../../../src/domain/keys/rotation.ts'
import { planRequestedRotation, planStep, schedule } from '../../../../src/domain/keys/rotation-plan.ts'
import { latest } from '../../../../src/domain/time.ts'
import { applySteps } from './apply-steps.ts'
import {
  activeKeySince,
  at,
  DAY,
  HOUR,
  inactiveKeySince,
  initialKey,
  LIMITS,
  pairOf,
  RSA,
  rotationOf,
  unpublishedKey,
} from './rotation-keys.ts'

const limits = LIMITS

describe('making a step', () => {
  const ring = [inactiveKeySince('old', at(0)), activeKeySince('a', at(0)), initialKey('b', at(0))]
  const plan = (kind: 'activate' | 'destroy' | 'delete', keyId: string, seconds: number) =>
    planStep(rotationOf(), ring, { wanted: { kind, keyId }, now: at(seconds), limits, pair: undefined })

  it('destroys, deletes and activates when it is time', () => {
    expect(plan('destroy', 'old', 3 * DAY).steps).toEqual([{ kind: 'destroy', keyId: 'old' }])
    expect(plan('delete', 'old', 5 * DAY).steps).toEqual([{ kind: 'remove', keyId: 'old' }])
    const { steps } = plan('activate', 'b', 30 * DAY)
    expect(steps).toEqual([
      {
        kind: 'transition',
        key: expect.objectContaining({ keyId: 'a', state: 'inactive', deactivatedAt: at(30 * DAY) }),
      },
      { kind: 'transition', key: expect.objectContaining({ keyId: 'b', state: 'active', activatedAt: at(30 * DAY) }) },
    ])
  })

  it('deletes even if another step was due before and could not be made', () => {
    expect(plan('delete', 'old', 40 * DAY).result).toEqual({ kind: 'delete', keyId: 'old' })
  })

  it.each([
    ['destroy', 'old', 3 * DAY - 1],
    ['delete', 'old', 5 * DAY - 1],
    ['activate', 'b', 30 * DAY - 1],
    ['delete', 'b', 40 * DAY],
    ['delete', 'a', 40 * DAY],
    ['activate', 'gone', 40 * DAY],
  ] as const)('does nothing if it is not time to %s %s after %d s', (kind, keyId, seconds) => {
    expect(plan(kind, keyId, seconds)).toEqual({ steps: [], result: undefined })
  })

  const creation = (
    rotation: Rotation,
    pair: ReturnType<typeof pairOf> | undefined,
    keys: KeyRing = ring.slice(1, 2),
  ) => planStep(rotation, keys, { wanted: { kind: 'create', config: RSA }, now: at(29 * DAY), limits, pair })

  it('creates a key, once: the second replica finds that it is there', () => {
    const first = creation(rotationOf(), pairOf('new'))
    expect(first.steps).toEqual([
      { kind: 'add', key: unpublishedKey('new', at(29 * DAY)), sealedPrivateKey: 'sealed new' },
    ])
    const after = applySteps(ring.slice(1, 2), first.steps)
    expect(creation(rotationOf(), pairOf('second'), after)).toEqual({ steps: [], result: undefined })
  })

  it('creates nothing if the policy wants another kind by now, or the pair is of another', () => {
    expect(creation(rotationOf({ config: { kind: 'ed25519' } }), pairOf('new')).steps).toEqual([])
    expect(creation(rotationOf(), pairOf('new', { kind: 'rsa', bits: 4096, hasher: 'sha256' })).steps).toEqual([])
    expect(creation(rotationOf(), undefined).steps).toEqual([])
  })
})

describe('rotating out of turn', () => {
  const active = activeKeySince('a', at(0))

  it.each([true, false])('activates a standby that is known at once (rotation on: %s)', (enabled) => {
    const rotation = rotationOf({ enabled })
    const plan = planRequestedRotation(rotation, [active, initialKey('b', at(0))], { now: at(900), limits })
    expect(plan.rotation).toBe(rotation)
    expect(plan.result).toEqual({ done: true, doneAt: at(900), key: expect.objectContaining({ keyId: 'b' }) })
    expect(activeKey(applySteps([active, initialKey('b', at(0))], plan.steps))?.keyId).toBe('b')
  })

  it('says when a standby will be known, and notes the request', () => {
    const standby = initialKey('b', at(0))
    const plan = planRequestedRotation(rotationOf(), [active, standby], { now: at(899), limits })
    expect(plan).toEqual({
      steps: [],
      rotation: rotationOf({}, at(899)),
      result: { done: false, doneAt: at(900), key: standby },
    })
  })

  it('says when a key could be known that has yet to be made', () => {
    const ring = [active, initialKey('other kind', at(0), { kind: 'ed25519' })]
    const plan = planRequestedRotation(rotationOf({ enabled: false }), ring, { now: at(50), limits })
    expect(plan.result).toEqual({ done: false, doneAt: at(950), key: undefined })
    expect(plan.rotation.requestedAt).toEqual(at(50))
  })

  it('changes nothing if it is asked for already', () => {
    const rotation = rotationOf({}, at(40))
    const plan = planRequestedRotation(rotation, [active], { now: at(50), limits })
    expect(plan.rotation).toBe(rotation)
    expect(plan.steps).toEqual([])
  })

  it.each([899, 900])('is refused if the standby cannot be opened, known or not yet (%d s)', (now) => {
    const standby = initialKey('b', at(0))
    const ask = (keyId: string) =>
      planRequestedRotation(rotationOf(), [active, standby], { now: at(now), limits, undecryptable: new Set([keyId]) })
    expect(() => ask('b')).toThrow(
      expect.objectContaining({ code: 'web_key_cannot_be_opened', metadata: { key_id: 'b' } }),
    )
    expect(ask('a').result.key?.keyId).toBe('b')
  })

  it('takes the next standby if the oldest one cannot be opened', () => {
    const ring = [active, initialKey('b', at(0)), initialKey('c', at(0))]
    const plan = planRequestedRotation(rotationOf(), ring, { now: at(900), limits, undecryptable: new Set(['b']) })
    expect(plan.result).toMatchObject({ done: true, key: { keyId: 'c' } })
  })

  it('is refused if it would need a key and there is no room', () => {
    const ask = (ring: KeyRing) =>
      planRequestedRotation(rotationOf(), ring, { now: at(1), limits: { ...limits, maxWebKeys: 2 } })
    const refusal = (help: string) =>
      expect.objectContaining({ code: 'web_key_limit_reached', message: expect.stringContaining(help) })
    expect(() => ask([inactiveKeySince('old', at(0)), active])).toThrow(refusal('delete inactive ones'))
    // Of these none can be deleted.
    expect(() => ask([active, initialKey('other', at(0), { kind: 'ed25519' })])).toThrow(refusal('revoke initial ones'))
    expect(ask([active, initialKey('b', at(0))]).result.key?.keyId).toBe('b')
  })
})

describe('the schedule', () => {
  it('shows a whole rotation, with keys that do not exist yet', () => {
    const ring = [activeKeySince('a', at(0))]
    const steps = schedule(rotationOf({ keepStandby: true }), ring, { now: at(60), limits, count: 6 })
    expect(steps).toEqual([
      { at: at(HOUR), step: { kind: 'create', config: RSA } },
      { at: at(30 * DAY), step: { kind: 'activate', keyId: '' } },
      { at: at(30 * DAY + HOUR), step: { kind: 'create', config: RSA } },
      { at: at(33 * DAY), step: { kind: 'destroy', keyId: 'a' } },
      { at: at(35 * DAY), step: { kind: 'delete', keyId: 'a' } },
      { at: at(60 * DAY), step: { kind: 'activate', keyId: '' } },
    ])
  })

  it('takes for published now what is about to be dated', () => {
    const ring = [activeKeySince('a', at(0)), unpublishedKey('b', at(0))]
    const [first] = schedule(rotationOf({}, at(50)), ring, { now: at(60), limits, count: 1 })
    expect(first).toEqual({ at: at(960), step: { kind: 'activate', keyId: 'b' } })
  })

  it('is what then happens, whatever the policy and the ring', () => {
    const configs = [RSA, { kind: 'ecdsa', curve: 'P-256' }, { kind: 'ed25519' }] as const
    const rotations = fc.record({
      enabled: fc.boolean(),
      config: fc.constantFrom(...configs),
      rotationIntervalSeconds: fc.integer({ min: 2 * DAY, max: 90 * DAY }),
      publishAheadSeconds: fc.integer({ min: 300, max: 2 * DAY }),
      retentionSeconds: fc.integer({ min: 13 * HOUR, max: 90 * DAY }),
      rollbackWindowSeconds: fc.nat(90 * DAY),
      keepStandby: fc.boolean(),
    })
    const rings = fc
      .record({
        inactive: fc.array(fc.record({ since: fc.nat(9 * DAY), hasPrivateKey: fc.boolean() }), { maxLength: 4 }),
        active: fc.option(fc.nat(9 * DAY)),
        initial: fc.array(fc.record({ since: fc.nat(9 * DAY), config: fc.constantFrom(...configs) }), { maxLength: 3 }),
      })
      .map(
        ({ inactive, active, initial }): KeyRing => [
          ...inactive.map(({ since, hasPrivateKey }, i) => inactiveKeySince(`inactive-${i}`, at(since), hasPrivateKey)),
          ...(active === null ? [] : [activeKeySince('active', at(active))]),
          ...initial.map(({ since, config }, i) => initialKey(`initial-${i}`, at(since), config)),
        ],
      )
    const requests = fc.option(fc.nat(11 * DAY).map(at))
    fc.assert(
      fc.property(
        rotations,
        rings,
        requests,
        fc.integer({ min: 3, max: 9 }),
        (policy, ring, requestedAt, maxWebKeys) => {
          const rotation = { policy, requestedAt }
          const options = { now: at(10 * DAY), limits: { ...limits, maxWebKeys }, count: 15 }
          expect(lived(rotation, ring, options)).toEqual(schedule(rotation, ring, options))
        },
      ),
      { numRuns: 300 },
    )
  })
})

/** What happens when each step is made at its time, told as the schedule tells it. */
function lived(
  rotation: Rotation,
  ring: KeyRing,
  options: { readonly now: Date; readonly limits: typeof LIMITS; readonly count: number },
): PlannedStep[] {
  const made: PlannedStep[] = []
  const known = new Set(ring.map(({ keyId }) => keyId))
  let [keys, now] = [ring, options.now]
  while (made.length < options.count) {
    const next = nextStep(rotation, keys, options.limits)
    if (next === undefined) break
    now = latest(now, next.at)
    const { step } = next
    const pair = step.kind === 'create' ? pairOf(`new-${made.length}`, step.config) : undefined
    expect(pair === undefined || pair.algorithm === algorithmOf(rotation.policy.config)).toBe(true)
    const { steps, result } = planStep(rotation, keys, { wanted: step, now, limits: options.limits, pair })
    expect(result).toEqual(step)
    keys = applySteps(keys, steps)
    keys = applySteps(keys, planPublication(keys, { now }).steps)
    made.push({ at: now, step: 'keyId' in step && !known.has(step.keyId) ? { ...step, keyId: '' } : step })
  }
  return made
}
