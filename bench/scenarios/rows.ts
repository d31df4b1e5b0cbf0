/**
 * Measurements as lines of a table, and the targets that several scenarios have.
 */
import { percentileOf, spreadOf } from '../statistics.ts'
import type { Row, Target } from './scenario.ts'
import type { Turns } from './turns.ts'

/** Times in milliseconds: the middle, and how bad it gets. */
export function timesRow(name: string, millis: readonly number[]): Row {
  const { median, min, max } = spreadOf(millis)
  const cells = { 'median ms': median, 'p99 ms': percentileOf(millis, 0.99), 'best ms': min, 'worst ms': max }
  return { name, cells: { ...cells, count: millis.length } }
}

/** Cost and rate of a server. */
export function costRow(name: string, { cpuMicros, answersPerSecond, generatorLoad, errors, firstError }: Turns): Row {
  return {
    name,
    cells: {
      'CPU µs': cpuMicros.median,
      min: cpuMicros.min,
      max: cpuMicros.max,
      'per CPU s': 1e6 / cpuMicros.median,
      'per s': answersPerSecond.median,
      errors: firstError === null ? errors : `${errors}: ${firstError}`,
      'load CPU': generatorLoad.median,
    },
  }
}

/** The most that Keyturn and its embedded database may take together. */
export function togetherTarget(name: string, megabytes: number): Target {
  const measured = { unit: 'MB', measured: megabytes }
  return { name: `memory with its database, Keyturn, embedded, ${name}`, limit: { atMost: 260 }, ...measured }
}

/** The most that a serving process may take. */
export function memoryTarget(name: string, megabytes: number): Target {
  return { name: `resident memory, ${name}`, limit: { atMost: 200 }, unit: 'MB', measured: megabytes }
}
