import { expect, it } from '@jest/globals'
import { SoftEviction } from '../../../../src/storage/postgres/soft-eviction.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

it('evicts the connections that exist, at most once in five seconds, and none that is opened later', () => {
  const clock = new ManualClock()
  const eviction = new SoftEviction(() => clock.monotonic())
  const [before, after, later] = [{}, {}, {}]
  eviction.add(before)
  eviction.evictAll()
  eviction.add(after)
  clock.advance(4_999)
  eviction.evictAll()
  expect([before, after].map((client) => eviction.isEvicted(client))).toEqual([true, false])
  clock.advance(1)
  eviction.evictAll()
  eviction.add(later)
  expect([after, later].map((client) => eviction.isEvicted(client))).toEqual([true, false])
})
