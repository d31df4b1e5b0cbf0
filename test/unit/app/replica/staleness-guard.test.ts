/**
 * A newer version that is known and not handed over in time. What a replica makes of the guard's judgement is in
 * `replica.test.ts`.
 */
import { describe, expect, it } from '@jest/globals'
import { StalenessGuard } from '../../../../src/app/replica/staleness-guard.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import { createRecordingLog } from '../../../support/log.ts'

const TIMEOUT = new DomainError('storage_unavailable', 'the database is not available')
const OTHER = { kind: 'other', id: '' }

/** A guard whose state was confirmed at 0 s. */
function createGuard() {
  let now = 0
  const log = createRecordingLog()
  const guard = new StalenessGuard({ clock: { monotonic: () => now }, log, maxStalenessSeconds: 60 })
  guard.confirmed(0)
  /** A comparison that begins at a second and fails. Without a version it could not be read. */
  const fail = (second: number, version?: number) => {
    now = second * 1000
    guard.failed({ at: now, version, error: TIMEOUT })
    guard.logFailure()
  }
  return { guard, log, fail }
}

describe('a standby that is reached and hears nothing of its primary', () => {
  it('is as stale as what it has replayed, with a warning, and refuses after the limit until it follows again', () => {
    const { guard, log } = createGuard()
    guard.confirmed(0, 11)
    expect({ fresh: guard.isFresh(), warnings: guard.warnings(), seconds: guard.stalenessSeconds }).toEqual({
      fresh: true,
      warnings: [],
      seconds: 11,
    })
    guard.confirmed(0, 60)
    expect(guard.warnings()).toEqual([
      'the standby has received no heartbeat of a replica on its primary: tokens go on for 60 s, of which 60 s have passed',
    ])
    guard.assertReadable()
    guard.confirmed(0, 61)
    guard.confirmed(0, 62)
    expect(guard.isFresh()).toBe(false)
    expect(guard.whyNotReady()).toBe(
      'the database has not confirmed the state of the instance for 62 s, the limit is 60 s: ' +
        'the standby has received no heartbeat of a replica on its primary',
    )
    expect(() => guard.assertReadable()).toThrow('try again later')
    guard.confirmed(0, 1)
    guard.assertReadable()
    expect(log.lines).toEqual([
      expect.stringMatching(/^warn the standby has received no heartbeat.*"replayAgeSeconds":61/),
      expect.stringMatching(/^info the state of the instance can be read again/),
    ])
  })
})

describe('a newer version that is known and not handed over', () => {
  it('ends tokens after ten seconds, also if the database is lost meanwhile', () => {
    const { guard, log, fail } = createGuard()
    fail(1, 7)
    expect({ current: guard.isCurrent(), fresh: guard.isFresh() }).toEqual({ current: false, fresh: true })
    fail(2, 8)
    expect(guard.whyNotReady()).toBe(
      'version 8 of the instance is known and cannot be taken over, the database is not available: ' +
        'tokens go on for 10 s, of which 1 s have passed',
    )
    expect(guard.unreadableRow).toEqual(OTHER)
    fail(11, 8)
    expect(guard.isFresh()).toBe(true)
    fail(12)
    expect(guard.isFresh()).toBe(false)
    expect(log.lines).toEqual([expect.stringMatching(/^warn the state of the instance could not be read.*"version":7/)])

    guard.confirmed(13_000)
    expect({ current: guard.isCurrent(), fresh: guard.isFresh(), row: guard.unreadableRow }).toEqual({
      current: true,
      fresh: true,
      row: undefined,
    })
    expect(guard.warnings()).toEqual([])
  })
})
