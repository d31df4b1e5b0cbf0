import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { AuditTrail } from '../../../../src/app/audit/audit-trail.ts'
import { ANONYMOUS, type AuditEntry, type AuditEvent, type Omission } from '../../../../src/domain/audit.ts'
import type { AuditLog } from '../../../../src/domain/ports/audit.ts'
import { createCounter } from '../../../support/counter.ts'
import { createRecordingLog, type RecordingLog } from '../../../support/log.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const MINUTE = 60_000

/** What was written down. */
type Written = AuditEntry & { readonly outcome: string; readonly omission: Omission | undefined }

/** Events in memory. While it is held nothing gets written; while it is broken everything fails. */
class Events implements AuditLog {
  readonly written: Written[] = []
  readonly attempts = createCounter()
  broken = false
  release: (() => void) | undefined
  #gate = Promise.resolve()

  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.release = resolve
    })
  }

  get outcomes(): string[] {
    return this.written.map(({ outcome }) => outcome)
  }

  get omitted(): Written[] {
    return this.written.filter(({ omission }) => omission !== undefined)
  }

  async refuse(entry: AuditEntry, outcome: string, omission?: Omission): Promise<void> {
    this.attempts.hit()
    await this.#gate
    if (this.broken) throw new Error('no database')
    this.written.push({ ...entry, outcome, omission })
  }

  async list(): Promise<readonly AuditEvent[]> {
    return []
  }

  async deleteBefore(): Promise<number> {
    return 0
  }
}

let events: Events
let clock: ManualClock
let log: RecordingLog
let trail: AuditTrail

beforeEach(() => {
  events = new Events()
  clock = new ManualClock()
  log = createRecordingLog()
  trail = new AuditTrail({ events, clock, now: () => new Date(clock.monotonic()), log })
})

function refuse(outcome: string, entry: Partial<AuditEntry> = {}): void {
  trail.refuse({ actor: 'somebody', action: 'service/method', resource: '', requestId: 'r', ...entry }, outcome)
}

function refuseMany(count: number, entry: Partial<AuditEntry> = {}): string[] {
  const outcomes = Array.from({ length: count }, (_, i) => `O${i}`)
  for (const outcome of outcomes) refuse(outcome, entry)
  return outcomes
}

const anonymous = (clientAddress: string) => ({ actor: ANONYMOUS, clientAddress })
const claimed = (userId: string, clientAddress: string) => ({
  ...anonymous(clientAddress),
  resource: `users/${userId}`,
})

/** Everything that is waiting is written. */
async function written(): Promise<void> {
  let before = -1
  while (before !== events.attempts.count) {
    before = events.attempts.count
    await setImmediate()
  }
}

describe('a refusal', () => {
  it('is written down after the caller has gone on', async () => {
    refuse('A')
    expect(events.attempts.count).toBe(0)
    await events.attempts.reached(1)
  })

  it('of a caller is one of 200 at once and of one a second, whatever others do', async () => {
    refuseMany(230, { actor: 'a user id' })
    refuse('ANOTHER', { actor: 'another user id' })
    clock.advance(3000)
    refuseMany(5, { actor: 'a user id' })
    await written()
    expect(events.outcomes).toHaveLength(200 + 1 + 3)
  })

  it('of an anonymous caller is one of 50 at once and of one a minute from its address', async () => {
    refuseMany(70, anonymous('192.0.2.1'))
    clock.advance(2 * MINUTE - 1)
    refuseMany(5, anonymous('192.0.2.1'))
    await written()
    expect(events.outcomes.filter((outcome) => outcome !== 'OMITTED')).toHaveLength(50 + 1)
  })

  it('is lost and counted when the database cannot be reached, and later ones are not', async () => {
    events.broken = true
    refuseMany(5)
    await written()

    events.broken = false
    refuse('LATER')
    await trail.stop()
    expect(events.outcomes).toEqual(['LATER', 'OMITTED'])
    expect(log.lines).toEqual([expect.stringContaining('could not be written'), expect.stringContaining('"dropped":5')])
  })
})

describe('ten thousand refusals of one anonymous caller', () => {
  beforeEach(async () => {
    // Half of them before the database takes the first.
    events.hold()
    refuseMany(5000, anonymous('192.0.2.1'))
    refuse('REAL', claimed('user-1', '198.51.100.7'))
    refuse('PERMISSION_MISSING', { actor: 'user-2', clientAddress: '192.0.2.1' })
    refuse('ELSEWHERE', anonymous('203.0.113.9'))
    refuse('SAME ADDRESS', claimed('user-1', '192.0.2.1'))
    events.release?.()
    refuseMany(5000, anonymous('192.0.2.1'))
    await written()
  })

  it('hide no attempt on a user who exists, from whatever address, nor one of another address', () => {
    expect(events.outcomes).toEqual(expect.arrayContaining(['REAL', 'PERMISSION_MISSING', 'ELSEWHERE', 'SAME ADDRESS']))
    expect(events.outcomes).toHaveLength(50 + 4)
  })

  it('are an event that says how many were left out, since when and from where, a minute later', async () => {
    expect(events.omitted).toEqual([])
    clock.advance(MINUTE)
    await written()
    expect(events.omitted).toEqual([
      {
        actor: ANONYMOUS,
        action: 'audit/omitted',
        resource: '',
        requestId: '',
        clientAddress: '192.0.2.1',
        outcome: 'OMITTED',
        omission: { count: 9950, since: new Date(0) },
      },
    ])
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*"kind":"anonymous","dropped":9950/)])
    clock.advance(MINUTE)
    await written()
    expect([events.omitted.length, log.lines.length, clock.waiting]).toEqual([1, 1, 0])
  })
})
