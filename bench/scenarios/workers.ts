/**
 * Two processes on one port instead of one.
 */
import { availableParallelism } from 'node:os'
import { eventually } from '../../test/support/eventually.ts'
import { childrenOf } from '../../test/support/proc.ts'
import type { Contender } from '../contenders/contender.ts'
import { postgresInstance, startKeyturnContender } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { costRow } from './rows.ts'
import type { Bench, Result } from './scenario.ts'
import { tokenLoad } from './tokens.ts'
import { type Turns, takeTurns } from './turns.ts'

/** Enough connections for the kernel to give both workers their share. */
const CONCURRENCY = 64

/** ES256, so that signing does not use the thread pool and one process is one core. */
export async function workers({ postgres, load, effort }: Bench, place: Place): Promise<Result> {
  const start = async (count: number) => {
    const settings = { ...postgresInstance(await postgres.createDatabase()), args: ['--workers', String(count)] }
    const contender = await startKeyturnContender(`${count}`, 'ES256', { settings, place })
    return { ...contender, pids: count === 1 ? contender.pids : await allPids(contender, count) }
  }
  const loadOn = (contender: Contender) => ({ ...tokenLoad(contender), concurrency: CONCURRENCY, samples: 0 })
  const turns = await takeTurns(load, effort, {
    'one process': loadOn(await start(1)),
    'two workers': loadOn(await start(2)),
  })
  const one = turns['one process']
  const two = turns['two workers']
  const cores = availableParallelism()
  return {
    title: 'workers',
    rows: Object.entries(turns).map(([name, own]) => costRow(name, own)),
    targets: [
      {
        name: 'two workers, tokens per second / one process',
        limit: { atLeast: 1.7 },
        unit: '×',
        measured: two.answersPerSecond.median / one.answersPerSecond.median,
        remark:
          `of ${cores} cores, two workers got ${used(two)} and the load generator ${two.generatorLoad.median.toFixed(2)}; ` +
          `one process got ${used(one)}. With two cores for themselves: ` +
          `${((2 * one.cpuMicros.median) / two.cpuMicros.median).toFixed(2)} × by CPU per token`,
      },
    ],
    notes: [],
  }
}

/** Cores that the server was given. */
function used({ cpuMicros, answersPerSecond }: Turns): string {
  return ((cpuMicros.median * answersPerSecond.median) / 1e6).toFixed(2)
}

async function allPids({ pids }: Contender, count: number): Promise<readonly number[]> {
  const [main = 0] = pids
  return await eventually(() => {
    const children = childrenOf(main)
    if (children.length !== count) throw new Error(`${children.length} of ${count} workers run`)
    return [main, ...children]
  })
}
