import { expect, it } from '@jest/globals'
import { SoftEviction } from '../../../../src/storage/postgres/soft-eviction.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

it('connections to a server that takes no writes are left once in five seconds, however many writes it refuses', () => {
  const clock = new ManualClock()
  const generations = new SoftEviction(() => clock.monotonic())
  const [before, after, later] = [{}, {}, {}]
  generations.add(before)
  generations.leave()
  generations.add(after)
  clock.advance(4_999)
  generations.leave()
  expect([before, after].map((client) => generations.isCurrent(client))).toEqual([false, true])
  clock.advance(1)
  generations.leave()
  generations.add(later)
  expect([after, later].map((client) => generations.isCurrent(client))).toEqual([false, true])
})
