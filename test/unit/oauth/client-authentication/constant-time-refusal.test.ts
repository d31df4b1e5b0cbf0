import { describe, expect, it } from '@jest/globals'
import { millisecondsUntilTold } from '../../../../src/oauth/client-authentication/constant-time-refusal.ts'

describe('a failed authentication', () => {
  it.each([
    [0, 50],
    [0.4, 50],
    [3, 50],
    [50, 50],
    [50.1, 100],
    [81, 100],
    [1000.5, 1050],
  ])('that is known after %d ms is answered after %d ms', (passed, told) => {
    expect(passed + millisecondsUntilTold(passed)).toBeCloseTo(told)
  })
})
