import { describe, expect, it } from '@jest/globals'
import { refusalDelay } from '../../../../src/oauth/client-endpoint.ts'

describe('a failed authentication', () => {
  it.each([
    [0, 50],
    [0.4, 50],
    [3, 50],
    [50, 50],
    [50.1, 100],
    [81, 100],
    [1000.5, 1050],
  ])('that took %d ms is answered after %d ms', (elapsed, answeredAfter) => {
    expect(elapsed + refusalDelay(elapsed)).toBeCloseTo(answeredAfter)
  })
})
