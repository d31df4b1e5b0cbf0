import { describe, expect, it } from '@jest/globals'
import { timeScale } from '../../../console/keys/time-scale.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const NOW = Date.UTC(2026, 10, 23, 12)
const options = { now: NOW, from: NOW - 100 * DAY, to: NOW + 100 * DAY, width: 1000 }

describe.each(['now', 'even'] as const)('the axis of the timeline, %s', (kind) => {
  const scale = timeScale(kind, options)

  it('goes from edge to edge, with now in the middle of the same time before and after', () => {
    expect([scale.x(options.from), scale.x(NOW), scale.x(options.to)]).toEqual([0, 500, 1000])
    expect([scale.x(NOW - 500 * DAY), scale.x(NOW + 500 * DAY)]).toEqual([0, 1000])
    expect([scale.isBeyond(options.to), scale.isBeyond(options.to + 1)]).toEqual([false, true])
  })

  it('keeps the order of moments', () => {
    const moments = [-90, -7, -1, -0.01, 0, 0.01, 1, 7, 90].map((days) => scale.x(NOW + days * DAY))
    expect(moments).toEqual(moments.toSorted((a, b) => a - b))
  })

  it('has marks that do not touch', () => {
    const places = scale.ticks.map(({ x }) => x)
    expect(places.length).toBeGreaterThan(3)
    for (const [index, x] of places.slice(1).entries()) expect(x - places[index]!).toBeGreaterThan(45)
  })
})

describe('the axis around now', () => {
  it('shows minutes beside months', () => {
    const scale = timeScale('now', options)
    expect(scale.x(NOW + 5 * MINUTE) - scale.x(NOW)).toBeGreaterThan(40)
    expect(timeScale('even', options).x(NOW + 5 * MINUTE) - 500).toBeLessThan(1)
  })
})
