import { describe, expect, it } from '@jest/globals'
import { targetTable } from '../../../bench/report.ts'
import type { Result, Target } from '../../../bench/scenarios/scenario.ts'
import { percentileOf } from '../../../bench/statistics.ts'

function resultWith(...targets: Target[]): Result[] {
  return [{ title: 'a scenario', rows: [], targets, notes: [] }]
}

describe('the table of targets', () => {
  it('says which targets are met, also those that are met exactly', () => {
    const table = targetTable(
      resultWith(
        { name: 'cost', limit: { atMost: 1.1 }, unit: '×', measured: 1.1 },
        { name: 'gain', limit: { atLeast: 1.7 }, unit: '×', measured: 1.9 },
      ),
    )
    expect(table).toMatch(/cost \| ≤ 1\.1 × +\| 1\.10 × +\| met/)
    expect(table).toMatch(/gain \| ≥ 1\.7 × +\| 1\.90 × +\| met/)
    expect(table).toContain('All 2 targets are met.')
  })

  it('says loudly which are not, also when there is no figure', () => {
    const table = targetTable(
      resultWith(
        { name: 'cost', limit: { atMost: 1.1 }, unit: '×', measured: 1.2, remark: 'the load generator was slow' },
        { name: 'gain', limit: { atLeast: 1.7 }, unit: '×', measured: Number.NaN },
      ),
    )
    expect(table.match(/NOT MET +\|/g)).toHaveLength(2)
    expect(table).toContain('2 of 2 targets are NOT MET.')
    expect(table).toContain('cost: the load generator was slow.')
    expect(table).toContain('Ratios of CPU are medians of the ratios within a round.')
  })
})

describe('statistics', () => {
  it('takes percentiles that occur among the values', () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index)
    expect(percentileOf(values, 0.99)).toBe(198)
    expect(percentileOf(values, 1)).toBe(200)
    expect(percentileOf([7], 0.5)).toBe(7)
  })
})
