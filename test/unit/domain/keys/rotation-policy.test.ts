import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import { type KeyRing, planPublication } from '../../../../src/domain/keys/key-ring.ts'
import { nextStep } from '../../../../src/domain/keys/rotation.ts'
import { planStep } from '../../../../src/domain/keys/rotation-plan.ts'
import {
  assertPolicy,
  DEFAULT_ROTATION_POLICY,
  MAX_POLICY_SECONDS,
  type RotationLimits,
  type RotationPolicy,
  timesOf,
} from '../../../../src/domain/keys/rotation-policy.ts'
import { latest } from '../../../../src/domain/time.ts'
import { applySteps } from './apply-steps.ts'
import { activeKeySince, at, DAY, HOUR, LIMITS, POLICY, pairOf, rotationOf } from './rotation-keys.ts'

/** The field and the message of the refusal. @throws {Error} if there is none. */
function refusalOf(changes: Partial<RotationPolicy>, limits: Partial<RotationLimits> = {}) {
  try {
    assertPolicy({ ...POLICY, ...changes }, { ...LIMITS, ...limits })
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { code: error.code, field: error.metadata.field, message: error.message }
  }
  throw new Error('the policy was not refused')
}

describe('a rotation policy', () => {
  it('may be the one of a new instance with the settings of one: 90 days, everything else 7 days [Spec §4.3]', () => {
    assertPolicy(DEFAULT_ROTATION_POLICY, LIMITS)
    expect(DEFAULT_ROTATION_POLICY).toEqual({
      enabled: true,
      config: { kind: 'rsa', bits: 2048, hasher: 'sha256' },
      rotationIntervalSeconds: 90 * DAY,
      publishAheadSeconds: 7 * DAY,
      retentionSeconds: 7 * DAY,
      rollbackWindowSeconds: 7 * DAY,
      keepStandby: true,
    })
  })

  it('may have each time at its limit', () => {
    const limits = { ...LIMITS, jwksMaxAgeSeconds: 0, tokenLifetimeSeconds: 1, maxStalenessSeconds: 1 }
    assertPolicy({ ...POLICY, publishAheadSeconds: 300, retentionSeconds: 12 * HOUR + 300 }, LIMITS)
    assertPolicy({ ...POLICY, rotationIntervalSeconds: 2 * DAY, rollbackWindowSeconds: 0 }, LIMITS)
    assertPolicy(
      { ...POLICY, rotationIntervalSeconds: 1, publishAheadSeconds: 0, retentionSeconds: 1, rollbackWindowSeconds: 0 },
      limits,
    )
    assertPolicy(
      {
        ...POLICY,
        rotationIntervalSeconds: MAX_POLICY_SECONDS,
        publishAheadSeconds: MAX_POLICY_SECONDS,
        retentionSeconds: MAX_POLICY_SECONDS,
        rollbackWindowSeconds: MAX_POLICY_SECONDS,
      },
      LIMITS,
    )
  })

  it.each([
    ['publish_ahead', { publishAheadSeconds: 299 }, 'at least 300 s', 'KEYTURN_JWKS_MAX_AGE'],
    ['retention', { retentionSeconds: 12 * HOUR + 299 }, `at least ${12 * HOUR + 300} s`, 'KEYTURN_TOKEN_LIFETIME'],
    ['rotation_interval', { rotationIntervalSeconds: 2 * DAY - 1 }, `at least ${2 * DAY} s`, 'publish_ahead'],
    ['rollback_window', { rollbackWindowSeconds: -1 }, 'from 0 to', 'whole number'],
    ['rollback_window', { rollbackWindowSeconds: 0.5 }, 'from 0 to', 'whole number'],
    ['rollback_window', { rollbackWindowSeconds: MAX_POLICY_SECONDS + 1 }, 'from 0 to', String(MAX_POLICY_SECONDS)],
    ['retention', { retentionSeconds: MAX_POLICY_SECONDS + 1 }, 'from 0 to', 'whole number'],
    ['rotation_interval', { rotationIntervalSeconds: MAX_POLICY_SECONDS + 1 }, 'from 0 to', 'whole number'],
    ['rotation_interval', { rotationIntervalSeconds: Number.NaN }, 'from 0 to', 'whole number'],
    ['publish_ahead', { publishAheadSeconds: -1 }, 'from 0 to', 'whole number'],
  ] as const)('is refused for %s: %j', (field, changes, limit, why) => {
    const refusal = refusalOf(changes)
    expect(refusal).toMatchObject({ code: 'rotation_policy_invalid', field })
    expect(refusal.message).toContain(field)
    expect(refusal.message).toContain(limit)
    expect(refusal.message).toContain(why)
  })

  it('is refused if a key would sign for no time at all', () => {
    const changes = { publishAheadSeconds: 0, rotationIntervalSeconds: 0 }
    expect(refusalOf(changes, { jwksMaxAgeSeconds: 0 })).toMatchObject({ field: 'rotation_interval' })
  })
})

describe('a rotation policy and the greatest number of keys', () => {
  const short = { rotationIntervalSeconds: 2 * DAY, publishAheadSeconds: DAY }
  const cases: [string, Partial<RotationPolicy>, number][] = [
    // 3 are kept after the last day of their interval, one signs, and one is published.
    ['without a standby', { ...short, retentionSeconds: 5 * DAY }, 4],
    ['without a standby, a second longer', { ...short, retentionSeconds: 5 * DAY + 1 }, 5],
    ['with a standby', { ...short, retentionSeconds: 6 * DAY, keepStandby: true }, 5],
    // The next one is published an hour after a rotation.
    ['with a standby, a little longer', { ...short, retentionSeconds: 6 * DAY + HOUR + 1, keepStandby: true }, 6],
    ['as it is on a new instance', DEFAULT_ROTATION_POLICY, 3],
  ]

  it.each(cases)('fits if there is room for all that exist at a time: %s', (_, changes, needed) => {
    assertPolicy({ ...POLICY, ...changes }, { ...LIMITS, maxWebKeys: needed })
    const refusal = refusalOf(changes, { maxWebKeys: needed - 1 })
    expect(refusal).toMatchObject({ code: 'rotation_policy_invalid', field: 'retention' })
    expect(refusal.message).toContain(`${needed} web keys`)
    expect(refusal.message).toContain('KEYTURN_MAX_WEB_KEYS')
  })

  it.each(cases)('are so many, and then every rotation is in time: %s', (_, changes, needed) => {
    const rotation = rotationOf(changes)
    const limits = { ...LIMITS, maxWebKeys: needed }
    const { interval } = timesOf(rotation.policy, limits)
    let ring: KeyRing = [activeKeySince('first', at(0))]
    let most = 0
    const rotations: Date[] = []
    for (let now = at(0), steps = 0; now < at(12 * interval); steps += 1) {
      const next = nextStep(rotation, ring, limits)!
      now = latest(now, next.at)
      const pair = next.step.kind === 'create' ? pairOf(`key-${steps}`) : undefined
      ring = applySteps(ring, planStep(rotation, ring, { wanted: next.step, now, limits, pair }).steps)
      ring = applySteps(ring, planPublication(ring, { now }).steps)
      most = Math.max(most, ring.length)
      if (next.step.kind === 'activate') rotations.push(now)
    }
    expect(most).toBe(needed)
    expect(rotations).toEqual(Array.from(rotations, (_, i) => at((i + 1) * interval)))
    expect(rotations.length).toBeGreaterThan(10)
  })

  it('is refused for its interval if keys are kept because of the settings', () => {
    const changes = { rotationIntervalSeconds: 300, publishAheadSeconds: 300, retentionSeconds: 12 * HOUR + 300 }
    expect(refusalOf(changes)).toMatchObject({ field: 'rotation_interval' })
  })
})

describe('a change of a rotation policy', () => {
  /** What was allowed before the lifetime of tokens was raised, and the number of keys was lowered. */
  const before: RotationPolicy = { ...POLICY, rotationIntervalSeconds: 3 * DAY, keepStandby: true }
  const limits = { ...LIMITS, tokenLifetimeSeconds: 10 * DAY, maxWebKeys: 3 }
  const change = (changes: Partial<RotationPolicy>) => assertPolicy({ ...before, ...changes }, limits, before)

  it('is not refused for what it leaves alone, such as when rotation is switched off', () => {
    expect(() => assertPolicy(before, limits)).toThrow(expect.objectContaining({ metadata: { field: 'retention' } }))
    change({ enabled: false })
    change({ rollbackWindowSeconds: 5 })
    change({ config: { kind: 'ed25519' } })
  })

  it('is refused for what it changes, and for everything if rotation is switched on', () => {
    const refused = (field: string) => expect.objectContaining({ metadata: { field } })
    expect(() => change({ enabled: false, retentionSeconds: 10 * DAY })).toThrow(refused('retention'))
    expect(() => change({ publishAheadSeconds: 4 * DAY })).toThrow(refused('rotation_interval'))
    expect(() => change({ keepStandby: false })).toThrow(refused('rotation_interval'))
    const off = { ...before, enabled: false }
    expect(() => assertPolicy(before, limits, off)).toThrow(refused('retention'))
  })
})

describe('the times that hold', () => {
  it('are those of the policy if it leaves enough', () => {
    expect(timesOf(POLICY, LIMITS)).toEqual({
      interval: 30 * DAY,
      ahead: 2 * DAY,
      // The cache time and the time for which a replica may go on without the database.
      known: 900,
      retention: 5 * DAY,
      rollback: 3 * DAY,
    })
  })

  it('leave what a replica needs to hear of a key, even if the policy does not', () => {
    const hurried = { ...POLICY, publishAheadSeconds: 300 }
    expect(timesOf(hurried, LIMITS)).toMatchObject({ ahead: 302, known: 302 })
  })

  it('wait for a replica that is cut off as far as the policy has time for it', () => {
    expect(timesOf({ ...POLICY, publishAheadSeconds: 500 }, LIMITS)).toMatchObject({ ahead: 500, known: 500 })
  })

  it('keep a key for what the last replica to hear of a rotation may have signed', () => {
    const short = { ...POLICY, retentionSeconds: 12 * HOUR + 300 }
    expect(timesOf(short, LIMITS).retention).toBe(12 * HOUR + 600 + 2)
    expect(timesOf(short, { ...LIMITS, maxStalenessSeconds: 1 }).retention).toBe(12 * HOUR + 300 + 2)
  })

  it('are those of settings that were changed after the policy was stored', () => {
    const changed = { ...LIMITS, jwksMaxAgeSeconds: 3 * DAY, tokenLifetimeSeconds: 10 * DAY }
    expect(timesOf(POLICY, changed)).toEqual({
      interval: 30 * DAY,
      ahead: 3 * DAY + 2,
      known: 3 * DAY + 2,
      retention: 13 * DAY + 2,
      rollback: 3 * DAY,
    })
  })
})
