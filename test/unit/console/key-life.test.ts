import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from '@jest/globals'
import { livesOf, neededUntil, phasesOf } from '../../../console/keys/key-life.ts'
import { isNeeded } from '../../../console/keys/key-sentences.ts'
import { type RotationStep, RotationStepKind, RotationStepSchema } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, WebKeySchema, WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { DEFAULT_ROTATION_POLICY, timesOf } from '../../../src/domain/keys/rotation-policy.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.UTC(2026, 10, 23, 12)
const lifetimes = { keySetCache: 5 * MINUTE, token: HOUR, staleness: MINUTE }

interface Dates {
  readonly created: number
  readonly published?: number
  readonly signs?: number
  readonly stops?: number
}

/** Dates in milliseconds from now. */
function key(keyId: string, state: WebKeyState, dates: Dates): WebKey {
  const at = (offset: number | undefined) => (offset === undefined ? undefined : timestampFromMs(NOW + offset))
  const { created, published, signs, stops } = dates
  const [creationDate, publicationDate, activationDate, deactivationDate] = [created, published, signs, stops].map(at)
  return create(WebKeySchema, {
    keyId,
    state,
    ...(creationDate && { creationDate }),
    ...(publicationDate && { publicationDate }),
    ...(activationDate && { activationDate }),
    ...(deactivationDate && { deactivationDate }),
  })
}

function step(kind: RotationStepKind, offset: number, keyId = ''): RotationStep {
  return create(RotationStepSchema, { kind, keyId, date: timestampFromMs(NOW + offset) })
}

describe('the life of a key in the console', () => {
  const active = key('a', WebKeyState.ACTIVE, { created: -90 * DAY, signs: -80 * DAY })
  const standby = key('s', WebKeyState.INITIAL, { created: -3 * MINUTE, published: -2 * MINUTE })
  const old = key('o', WebKeyState.INACTIVE, { created: -180 * DAY, signs: -170 * DAY, stops: -20 * MINUTE })

  it('has the steps that the rotation plans', () => {
    const steps = [
      step(RotationStepKind.DELETE, 7 * DAY, 'o'),
      step(RotationStepKind.ACTIVATE, 10 * DAY, 's'),
      step(RotationStepKind.CREATE, 10 * DAY + HOUR),
      step(RotationStepKind.DELETE, 17 * DAY, 'a'),
      step(RotationStepKind.ACTIVATE, 100 * DAY),
      step(RotationStepKind.DELETE, 107 * DAY, 's'),
    ]
    const [first, second, third, next, ...others] = livesOf([active, standby, old], steps, { lifetimes, now: NOW })
    expect(first).toMatchObject({ id: 'o', goneAt: NOW + 7 * DAY })
    expect(second).toMatchObject({ id: 'a', stopsAt: NOW + 10 * DAY, goneAt: NOW + 17 * DAY })
    expect(third).toMatchObject({ id: 's', signsAt: NOW + 10 * DAY, stopsAt: NOW + 100 * DAY })
    expect(next).toMatchObject({
      id: expect.stringMatching(/^planned/),
      publishedAt: NOW + 10 * DAY + HOUR,
      signsAt: NOW + 100 * DAY,
    })
    expect(others).toEqual([])
  })

  it('is needed until the last token has expired that a replica without the database may have signed', () => {
    const [life] = livesOf([old], [], { lifetimes, now: NOW })
    const end = NOW + 41 * MINUTE + 2000
    expect(isNeeded(life!, end - 1)).toBe(true)
    expect(isNeeded(life!, end)).toBe(false)
    expect(phasesOf(life!)).toEqual([
      { kind: 'learning', from: NOW - 180 * DAY, to: NOW - 180 * DAY + 5 * MINUTE },
      { kind: 'published', from: NOW - 180 * DAY + 5 * MINUTE, to: NOW - 170 * DAY },
      { kind: 'signing', from: NOW - 170 * DAY, to: NOW - 20 * MINUTE },
      { kind: 'needed', from: NOW - 20 * MINUTE, to: end },
      { kind: 'kept', from: end, to: undefined },
    ])
  })

  it('is not deleted by the rotation before that, however short the retention', () => {
    const [jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds] = [300, 3600, 600]
    const limits = { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys: 50 }
    const { retention } = timesOf({ ...DEFAULT_ROTATION_POLICY, retentionSeconds: 3900 }, limits)
    const long = { keySetCache: 5 * MINUTE, token: HOUR, staleness: 10 * MINUTE }
    expect(neededUntil(NOW, long)).toBe(NOW + retention * 1000)
  })
})
