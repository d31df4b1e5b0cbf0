import { describe, expect, it } from '@jest/globals'
import type { WebKeyConfig } from '../../../../src/domain/keys/key-algorithm.ts'
import type { KeyRing } from '../../../../src/domain/keys/key-ring.ts'
import {
  blockedStep,
  isRequested,
  nextStep,
  plannedSteps,
  type Rotation,
  rotationDue,
  standbyOf,
} from '../../../../src/domain/keys/rotation.ts'
import {
  activeKeySince,
  at,
  DAY,
  HOUR,
  inactiveKeySince,
  initialKey,
  LIMITS,
  POLICY,
  RSA,
  rotationOf,
} from './rotation-keys.ts'

const next = (rotation: Rotation, ring: KeyRing, limits = LIMITS) => nextStep(rotation, ring, limits)
const create = { kind: 'create', config: RSA } as const

describe('when a rotation is due', () => {
  it('is an interval after the last activation, by hand or not', () => {
    expect(rotationDue(rotationOf(), [activeKeySince('a', at(7))])).toEqual(at(7 + 30 * DAY))
  })

  it('is at once if no key is active', () => {
    expect(rotationDue(rotationOf(), [])).toEqual(new Date(0))
  })

  it('is never if rotation is off, even if no key is active', () => {
    const off = rotationOf({ enabled: false })
    expect(rotationDue(off, [activeKeySince('a', at(0))])).toBeUndefined()
    expect(rotationDue(off, [])).toBeUndefined()
  })

  it('is when it was requested, on or off', () => {
    for (const enabled of [true, false]) {
      expect(rotationDue(rotationOf({ enabled }, at(9)), [activeKeySince('a', at(0))])).toEqual(at(9))
      expect(rotationDue(rotationOf({ enabled }, at(9)), [])).toEqual(new Date(0))
    }
  })

  it('is in turn if the request came too late to make a difference', () => {
    expect(rotationDue(rotationOf({}, at(40 * DAY)), [activeKeySince('a', at(0))])).toEqual(at(30 * DAY))
  })

  it('does not heed a request from before the last activation, which was what it asked for', () => {
    expect(rotationDue(rotationOf({}, at(9)), [activeKeySince('a', at(10))])).toEqual(at(10 + 30 * DAY))
    expect(rotationDue(rotationOf({ enabled: false }, at(9)), [activeKeySince('a', at(10))])).toBeUndefined()
  })

  it('heeds a request in the very millisecond of an activation', () => {
    expect(rotationDue(rotationOf({}, at(10)), [activeKeySince('a', at(10))])).toEqual(at(10))
    expect(isRequested(rotationOf({}, at(10)), [activeKeySince('a', at(10))])).toBe(true)
  })
})

describe('the standby', () => {
  const kinds: WebKeyConfig[] = [
    RSA,
    { kind: 'rsa', bits: 3072, hasher: 'sha256' },
    { kind: 'rsa', bits: 2048, hasher: 'sha512' },
    { kind: 'ecdsa', curve: 'P-256' },
    { kind: 'ecdsa', curve: 'P-384' },
    { kind: 'ed25519' },
  ]

  it.each(kinds)('is the initial key of the kind of the policy: %j', (config) => {
    const ring = [activeKeySince('a', at(0), config), ...kinds.map((kind, i) => initialKey(`key-${i}`, at(i), kind))]
    expect(standbyOf(ring, { ...POLICY, config })?.keyId).toBe(`key-${kinds.indexOf(config)}`)
  })

  it('is the oldest one of several', () => {
    expect(standbyOf([initialKey('a', at(0)), initialKey('b', at(1))], POLICY)?.keyId).toBe('a')
  })

  it('is the oldest one that can be opened, or else the oldest one, which is a failure that is told of', () => {
    const ring = [initialKey('a', at(0)), initialKey('b', at(1)), initialKey('c', at(2))]
    const standby = (...keyIds: string[]) => standbyOf(ring, POLICY, { undecryptable: new Set(keyIds) })?.keyId
    expect([standby('b'), standby('a'), standby('a', 'b'), standby('a', 'b', 'c')]).toEqual(['a', 'b', 'c', 'a'])
  })

  it('is none if the initial keys are of other kinds', () => {
    expect(standbyOf([initialKey('a', at(0), { kind: 'ed25519' })], POLICY)).toBeUndefined()
  })
})

describe('the next signer', () => {
  it('is created the publish-ahead time before its turn', () => {
    expect(next(rotationOf(), [activeKeySince('a', at(0))])).toEqual({ at: at(28 * DAY), step: create })
  })

  it('is created an hour after the last change if a standby is kept', () => {
    const ring = [inactiveKeySince('a', at(10), false), activeKeySince('b', at(10))]
    expect(next(rotationOf({ keepStandby: true }), ring)).toEqual({ at: at(10 + HOUR), step: create })
  })

  it('is created at once, out of turn, with rotation off, and then no standby is kept', () => {
    const requested = rotationOf({ enabled: false, keepStandby: true }, at(50))
    expect(next(requested, [activeKeySince('a', at(0))])?.at.getTime()).toBeLessThanOrEqual(at(50).getTime())
    expect(next(requested, [activeKeySince('a', at(60))])).toBeUndefined()
  })

  it('signs when its turn comes', () => {
    const ring = [activeKeySince('a', at(0)), initialKey('b', at(28 * DAY))]
    expect(next(rotationOf(), ring)).toEqual({ at: at(30 * DAY), step: { kind: 'activate', keyId: 'b' } })
  })

  it('signs no earlier than every copy of the key set has it, if it was created late', () => {
    const ring = [activeKeySince('a', at(0)), initialKey('b', at(40 * DAY))]
    // The cache time, and the time for which a replica may go on without the database.
    expect(next(rotationOf(), ring)).toEqual({ at: at(40 * DAY + 900), step: { kind: 'activate', keyId: 'b' } })
  })

  it('signs as soon as it is known if no key is active, or if it was requested', () => {
    const step = { kind: 'activate', keyId: 'b' } as const
    expect(next(rotationOf(), [initialKey('b', at(0))])).toEqual({ at: at(900), step })
    const ring = [activeKeySince('a', at(0)), initialKey('b', at(0))]
    expect(next(rotationOf({}, at(100)), ring)).toEqual({ at: at(900), step })
    expect(next(rotationOf({}, at(1000)), ring)).toEqual({ at: at(1000), step })
    expect(next(rotationOf({ enabled: false }, at(1000)), ring)).toEqual({ at: at(1000), step })
  })

  it('is not created while there is no room; what makes room still happens', () => {
    const limits = { ...LIMITS, maxWebKeys: 2 }
    const full = [activeKeySince('a', at(0)), initialKey('other', at(0), { kind: 'ed25519' })]
    expect(next(rotationOf(), full, limits)).toBeUndefined()
    const clearing = [inactiveKeySince('old', at(0), false), activeKeySince('a', at(0))]
    expect(next(rotationOf(), clearing, limits)).toEqual({ at: at(5 * DAY), step: { kind: 'delete', keyId: 'old' } })
  })
})

describe('a step that is blocked', () => {
  const full = [activeKeySince('a', at(0)), initialKey('other', at(0), { kind: 'ed25519' })]
  const blocked = (rotation: Rotation, ring: KeyRing, maxWebKeys = 2) =>
    blockedStep(rotation, ring, { ...LIMITS, maxWebKeys })

  it('is the creation of a key for which there is no room and never will be', () => {
    expect(blocked(rotationOf(), full)).toEqual({ at: at(28 * DAY), step: create })
    expect(blocked(rotationOf({ keepStandby: true }), full)).toEqual({ at: at(HOUR), step: create })
    expect(blocked(rotationOf({ enabled: false }, at(50)), full)?.at.getTime()).toBeLessThanOrEqual(at(50).getTime())
  })

  it('is none if there is room, or a standby, or nothing is to rotate', () => {
    expect(blocked(rotationOf(), full, 3)).toBeUndefined()
    expect(blocked(rotationOf(), [...full, initialKey('b', at(0))], 3)).toBeUndefined()
    expect(blocked(rotationOf({ enabled: false }), full)).toBeUndefined()
  })

  it('is none if a key is deleted before the rotation is due, by itself', () => {
    const clearing = [inactiveKeySince('old', at(0), false), activeKeySince('a', at(0))]
    expect(blocked(rotationOf(), clearing)).toBeUndefined()
    expect(blocked(rotationOf({ retentionSeconds: 30 * DAY }), clearing)).toEqual({ at: at(28 * DAY), step: create })
    expect(blocked(rotationOf({ enabled: false }, at(50)), clearing)).toBeDefined()
  })
})

describe('the end of a key', () => {
  const ring = [inactiveKeySince('old', at(0)), activeKeySince('a', at(0))]
  const stepsOf = (rotation: Rotation, keys: KeyRing = ring) =>
    plannedSteps(rotation, keys, LIMITS).filter(({ step }) => 'keyId' in step && step.keyId === 'old')

  it('is that its private key is destroyed after the rollback window and that it is deleted after the retention', () => {
    expect(stepsOf(rotationOf())).toEqual([
      { at: at(3 * DAY), step: { kind: 'destroy', keyId: 'old' } },
      { at: at(5 * DAY), step: { kind: 'delete', keyId: 'old' } },
    ])
  })

  it('is only the deletion if its private key is gone, or may be wanted until then', () => {
    const deletion = [{ at: at(5 * DAY), step: { kind: 'delete', keyId: 'old' } }]
    expect(stepsOf(rotationOf(), [inactiveKeySince('old', at(0), false)])).toEqual(deletion)
    expect(stepsOf(rotationOf({ rollbackWindowSeconds: 5 * DAY }))).toEqual(deletion)
    expect(stepsOf(rotationOf({ rollbackWindowSeconds: 9 * DAY }))).toEqual(deletion)
  })

  it('does not come by itself if rotation is off, requested rotations or not', () => {
    expect(stepsOf(rotationOf({ enabled: false }))).toEqual([])
    expect(stepsOf(rotationOf({ enabled: false }, at(10)))).toEqual([])
  })

  it('does not wait for a step that was due before it', () => {
    const keys = [...ring, inactiveKeySince('older', at(-DAY))]
    const due = plannedSteps(rotationOf(), keys, LIMITS).filter((step) => step.at <= at(29 * DAY))
    expect(due.map(({ step }) => step.kind)).toEqual(['destroy', 'destroy', 'delete', 'delete', 'create'])
  })
})
