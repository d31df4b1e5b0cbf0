/**
 * Lets several servers have their turn one after the other, again and again: what else the machine does then meets all of
 * them alike.
 */
import type { Effort } from '../effort.ts'
import type { LoadGenerator } from '../load/generator.ts'
import type { GrpcJob, HttpJob, Measurement } from '../load/job.ts'
import { type Spread, spreadOf } from '../statistics.ts'

type Times = 'warmUpSeconds' | 'seconds'

/** Jobs without their times. */
export type HttpLoad = Omit<HttpJob, Times>
export type GrpcLoad = Omit<GrpcJob, Times>

/** The turns of one server. */
export interface Turns {
  readonly measurements: readonly Measurement[]
  /** Of the server, in microseconds for each answer. */
  readonly cpuMicros: Spread
  readonly answersPerSecond: Spread
  /** CPU time of the load generator, in seconds for each second. */
  readonly generatorLoad: Spread
  /** In milliseconds, medians over the turns. */
  readonly latency: { readonly p50: number; readonly p99: number }
  readonly errors: number
  readonly firstError: string | null
}

/** Makes load with several names, A B C A B C …, after a first warm-up of each. */
export async function takeTurns<Name extends string>(
  load: LoadGenerator,
  effort: Pick<Effort, 'firstWarmUp' | 'rounds' | 'warmUp' | 'window'>,
  loads: Readonly<Record<Name, HttpLoad | GrpcLoad>>,
): Promise<Readonly<Record<Name, Turns>>> {
  const entries = Object.entries(loads) as [Name, HttpLoad | GrpcLoad][]
  const measurements = new Map<Name, Measurement[]>(entries.map(([name]) => [name, []]))
  for (const [, job] of entries)
    if (effort.firstWarmUp > 0) await load.measure({ ...job, warmUpSeconds: effort.firstWarmUp, seconds: 0 })
  for (let round = 0; round < effort.rounds; round += 1) {
    for (const [name, job] of entries) {
      const measured = await load.measure({ ...job, warmUpSeconds: effort.warmUp, seconds: effort.window })
      measurements.get(name)?.push(measured)
    }
  }
  return Object.fromEntries(entries.map(([name]) => [name, turnsOf(measurements.get(name) ?? [])])) as Record<
    Name,
    Turns
  >
}

/** Sums the turns of one server up. */
function turnsOf(measurements: readonly Measurement[]): Turns {
  return {
    measurements,
    cpuMicros: spreadOf(measurements.map(({ cpuSeconds, answers }) => (cpuSeconds / answers) * 1e6)),
    answersPerSecond: spreadOf(measurements.map(({ answers, seconds }) => answers / seconds)),
    generatorLoad: spreadOf(measurements.map(({ generatorCpuSeconds, seconds }) => generatorCpuSeconds / seconds)),
    latency: {
      p50: spreadOf(measurements.map(({ latency }) => latency.p50)).median,
      p99: spreadOf(measurements.map(({ latency }) => latency.p99)).median,
    },
    errors: measurements.reduce((sum, { errors }) => sum + errors, 0),
    firstError: measurements.find(({ firstError }) => firstError !== null)?.firstError ?? null,
  }
}

/**
 * The middle of the ratios of each round. Both turns of a round are close together, so what the machine does otherwise
 * cancels out better than in a ratio of medians.
 */
export function cpuRatio(of: Turns, to: Turns): number {
  const cost = ({ cpuSeconds, answers }: Measurement) => cpuSeconds / answers
  const ratios = of.measurements.map((measurement, round) => {
    const other = to.measurements[round]
    return other === undefined ? Number.NaN : cost(measurement) / cost(other)
  })
  return spreadOf(ratios).median
}
