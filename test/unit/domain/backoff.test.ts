import { describe, expect, it } from '@jest/globals'
import { backoffMillis } from '../../../src/domain/time.ts'

describe('a backoff', () => {
  it('doubles with each failure, up to the longest wait', () => {
    const waits = [1, 2, 3, 4, 5].map((failures) => backoffMillis(failures, { first: 100, longest: 1000 }))
    expect(waits).toEqual([100, 200, 400, 800, 1000])
    // So many failures that the doubling is no number any more.
    expect(backoffMillis(5000, { first: 100, longest: 1000 })).toBe(1000)
  })

  it('is shorter by the jitter, also when it has reached the longest wait', () => {
    expect(backoffMillis(1, { first: 100, longest: 1000, jitter: 0.25 })).toBe(75)
    expect(backoffMillis(9, { first: 100, longest: 1000, jitter: 0.5 })).toBe(500)
    expect(backoffMillis(9, { first: 100, longest: 1000, jitter: 1 })).toBe(0)
  })
})
