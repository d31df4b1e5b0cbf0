import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../src/domain/errors.ts'
import {
  assertPolicy,
  DEFAULT_ROTATION_POLICY,
  MAX_POLICY_SECONDS,
  type RotationLimits,
  type RotationPolicy,
  timesOf,
} from '../../src/domain/rotation-policy.ts'
import { DAY, HOUR, LIMITS, POLICY } from './rotation-keys.ts'

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
    const limits = { ...LIMITS, jwksMaxAgeSeconds: 0, tokenLifetimeSeconds: 1 }
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
    ['publish_ahead', { publishAheadSeconds: -1 }, 'at least 300 s', 'KEYTURN_JWKS_MAX_AGE'],
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
