import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from '@jest/globals'
import { livesOf } from '../../../console/keys/key-life.ts'
import { isNeeded, statusOf } from '../../../console/keys/key-sentences.ts'
import { phasesOf } from '../../../console/keys/phases.ts'
import { type RotationStep, RotationStepKind, RotationStepSchema } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, WebKeySchema, WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.UTC(2026, 10, 23, 12)
const lifetimes = { keySetCache: 5 * MINUTE, token: HOUR }

/** Dates in milliseconds from now. */
function key(keyId: string, state: WebKeyState, dates: { created: number; signs?: number; stops?: number }): WebKey {
  const at = (offset: number | undefined) => (offset === undefined ? undefined : timestampFromMs(NOW + offset))
  const [creationDate, activationDate, deactivationDate] = [dates.created, dates.signs, dates.stops].map(at)
  return create(WebKeySchema, {
    keyId,
    state,
    ...(creationDate && { creationDate }),
    ...(activationDate && { activationDate }),
    ...(deactivationDate && { deactivationDate }),
  })
}

function step(kind: RotationStepKind, offset: number, keyId = ''): RotationStep {
  return create(RotationStepSchema, { kind, keyId, date: timestampFromMs(NOW + offset) })
}

describe('the life of a key in the console', () => {
  const active = key('a', WebKeyState.ACTIVE, { created: -90 * DAY, signs: -80 * DAY })
  const standby = key('s', WebKeyState.INITIAL, { created: -2 * MINUTE })
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
    expect(next).toMatchObject({ key: undefined, publishedAt: NOW + 10 * DAY + HOUR, signsAt: NOW + 100 * DAY })
    expect(others).toEqual([])
  })

  it('takes a step that is due for one that comes now', () => {
    const [life] = livesOf([standby], [step(RotationStepKind.ACTIVATE, -HOUR, 's')], { lifetimes, now: NOW })
    expect(life?.signsAt).toBe(NOW)
  })

  it('is needed until the last token has expired that the key signed', () => {
    const [life] = livesOf([old], [], { lifetimes, now: NOW })
    expect(isNeeded(life!, NOW)).toBe(true)
    expect(isNeeded(life!, NOW + 40 * MINUTE)).toBe(false)
    expect(phasesOf(life!)).toEqual([
      { kind: 'learning', from: NOW - 180 * DAY, to: NOW - 180 * DAY + 5 * MINUTE },
      { kind: 'published', from: NOW - 180 * DAY + 5 * MINUTE, to: NOW - 170 * DAY },
      { kind: 'signing', from: NOW - 170 * DAY, to: NOW - 20 * MINUTE },
      { kind: 'needed', from: NOW - 20 * MINUTE, to: NOW + 40 * MINUTE },
      { kind: 'kept', from: NOW + 40 * MINUTE, to: undefined },
    ])
  })

  it('says until when verifiers may not know a key', () => {
    const [life] = livesOf([standby], [], { lifetimes, now: NOW })
    expect(statusOf(life!, NOW)).toMatch(/^verifiers may not know it until \d\d:03$/)
    expect(statusOf(life!, NOW + 3 * MINUTE)).toBe('ready to sign: verifiers know it')
  })

  it('has no learning after a key that signed early', () => {
    const early = key('e', WebKeyState.ACTIVE, { created: -3 * MINUTE, signs: -2 * MINUTE })
    const [life] = livesOf([early], [], { lifetimes, now: NOW })
    expect(phasesOf(life!).map(({ kind }) => kind)).toEqual(['learning', 'signing'])
  })
})
