import { describe, expect, it } from '@jest/globals'
import { SecretUses } from '../../../../src/app/identities/secret-uses.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import { createRecordingLog } from '../../../support/log.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const after = (seconds: number) => new Date(NOON.getTime() + seconds * 1000)

/** Uses of secrets, a store that can be made to fail or to wait, and a clock whose timers the test lets ring. */
function start() {
  const written: Record<string, Date>[] = []
  const timers: { milliseconds: number; callback: () => void }[] = []
  const log = createRecordingLog()
  const store = {
    behave: async () => {},
    recordSecretUses: async (uses: ReadonlyMap<string, Date>) => {
      await store.behave()
      written.push(Object.fromEntries(uses))
    },
  }
  const clock = {
    after: (milliseconds: number, callback: () => void) => {
      const timer = { milliseconds, callback }
      timers.push(timer)
      return () => void timers.splice(timers.indexOf(timer), 1)
    },
  }
  const uses = new SecretUses({
    store,
    canWrite: () => true,
    clock,
    log,
  })
  const ring = async () => {
    timers.shift()?.callback()
    // Everything that does not wait for the outside has happened by then.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { uses, store, written, timers, log, ring }
}

describe('the last use of a secret', () => {
  it('is written a minute later, to the minute', async () => {
    const { uses, written, timers, ring } = start()
    uses.note('one', after(59.9))
    expect(written).toEqual([])
    expect(timers.map(({ milliseconds }) => milliseconds)).toEqual([60_000])
    await ring()
    expect(written).toEqual([{ one: NOON }])
  })

  it('is tried again a minute after a failure, which is logged', async () => {
    const { uses, store, written, timers, log, ring } = start()
    store.behave = async () => {
      throw new DomainError('storage_unavailable', 'no database')
    }
    uses.note('one', NOON)
    await ring()
    expect(written).toEqual([])
    expect(log.lines).toEqual([expect.stringMatching(/^warn when secrets were last used could not be written/)])
    expect(timers).toHaveLength(1)

    store.behave = async () => {}
    await ring()
    expect(written).toEqual([{ one: NOON }])
  })
})

describe('stopping', () => {
  it('writes what is left, and ends the timer', async () => {
    const { uses, written, timers } = start()
    uses.note('one', NOON)
    await uses.stop()
    expect(written).toEqual([{ one: NOON }])
    expect(timers).toEqual([])
  })
})
