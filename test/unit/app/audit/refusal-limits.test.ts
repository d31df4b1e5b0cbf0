/**
 * How many networks it takes to use up what is written down of all callers of a kind: the figures of SECURITY.md and decision 17.
 */
import { describe, expect, it } from '@jest/globals'
import { RefusalLimits } from '../../../../src/app/audit/refusal-limits.ts'
import { ANONYMOUS, type AuditEntry } from '../../../../src/domain/audit.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const MINUTE = 60_000
const TRIES = 200

function attack(networks: number, users = 0) {
  const clock = new ManualClock()
  const limits = new RefusalLimits(clock)
  const refusal = (clientAddress: string, user: string): AuditEntry => ({
    actor: ANONYMOUS,
    action: 'service/method',
    resource: users === 0 ? '' : `users/${user}`,
    requestId: 'r',
    clientAddress,
  })
  return {
    clock,
    /** How many events all networks cause together, each with more than it may and, if there are users, about all of them. */
    events(): number {
      let admitted = 0
      for (let i = 0; i < networks; i += 1) {
        for (let j = 0; j < TRIES; j += 1) {
          if (limits.admits(refusal(`192.0.2.${i}`, `user-${j % (users || 1)}`))) admitted += 1
        }
      }
      return admitted
    },
    /** Whether a refusal of another network is written down. */
    admitsAnother: () => limits.admits(refusal('198.51.100.1', 'another user')),
  }
}

describe('refusals of anonymous callers', () => {
  it('of twenty networks use up what is written down at once, those of nineteen do not', () => {
    const [nineteen, twenty] = [attack(19), attack(20)]
    expect([nineteen.events(), twenty.events()]).toEqual([950, 1000])
    expect([nineteen.admitsAnother(), twenty.admitsAnother()]).toEqual([true, false])
  })

  it('of sixty networks keep it used up, those of twenty do not', () => {
    const [twenty, sixty] = [attack(20), attack(60)]
    for (const { clock, events } of [twenty, sixty]) {
      events()
      clock.advance(MINUTE)
      events()
    }
    expect([twenty.admitsAnother(), sixty.admitsAnother()]).toEqual([true, false])
  })
})

describe('attempts to be a user', () => {
  it('of ten networks with ten client IDs use up what is written down and keep it so, with nine they do not', () => {
    const [nine, ten] = [attack(10, 9), attack(10, 10)]
    expect([nine.events(), ten.events()]).toEqual([900, 1000])
    for (const { clock, events } of [nine, ten]) {
      clock.advance(MINUTE)
      events()
    }
    expect([nine.admitsAnother(), ten.admitsAnother()]).toEqual([true, false])
  })
})
