/**
 * Times as a row: the middle, and how bad it gets.
 */
import { percentileOf, spreadOf } from '../statistics.ts'
import type { Row } from './scenario.ts'

/** Times in milliseconds. */
export function timesRow(name: string, millis: readonly number[]): Row {
  const { median, min, max } = spreadOf(millis)
  const cells = { 'median ms': median, 'p99 ms': percentileOf(millis, 0.99), 'best ms': min, 'worst ms': max }
  return { name, cells: { ...cells, count: millis.length } }
}
