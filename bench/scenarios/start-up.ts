/**
 * From the start of the process until it is ready: on a database that is there already, and at a user's first start.
 */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type InstanceSettings, type Keyturn, postgresInstance, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { cpuSecondsOf } from '../processes/usage.ts'
import { spreadOf } from '../statistics.ts'
import { timesRow } from './rows.ts'
import type { Bench, Result } from './scenario.ts'

interface Starts {
  readonly millis: readonly number[]
  readonly cpuSeconds: number
}

/** On PostgreSQL, where the first start, which makes the schema, does not count; and embedded, the first start and the next. */
export async function startUp({ postgres, effort }: Bench, place: Place): Promise<Result> {
  const onPostgres = await startTimes(postgresInstance(await postgres.createDatabase()), effort.starts, place)
  const embedded = await startTimes({}, effort.starts, place)
  const first = await firstStartTimes(effort.starts, place)
  const row = (name: string, { millis, cpuSeconds }: Starts) => {
    const { cells } = timesRow(name, millis)
    return { name, cells: { ...cells, 'CPU s': cpuSeconds } }
  }
  const target = (name: string, { millis }: Starts, seconds: number) => ({
    name,
    limit: { atMost: seconds },
    unit: 's',
    measured: spreadOf(millis).median / 1000,
  })
  return {
    title: 'start to ready',
    rows: [
      row('existing PostgreSQL', onPostgres),
      row('embedded, second start', embedded),
      row('embedded, first start', first),
    ],
    targets: [
      target('start to ready, existing PostgreSQL', onPostgres, 1),
      target('start to ready, embedded, second start', embedded, 1.2),
      target('start to ready, embedded, first start', first, 3),
    ],
    notes: [],
  }
}

/** What each start took: by the clock, and of the CPU. */
async function startTimes(settings: InstanceSettings, count: number, place: Place): Promise<Starts> {
  const dataDir = await mkdtemp(join(place.folder, 'keyturn-'))
  const first = await startKeyturn({ ...settings, dataDir }, place)
  await first.stop()
  return await measure(count, () => startKeyturn({ ...settings, dataDir }, place))
}

/** Each makes a database. */
async function firstStartTimes(count: number, place: Place): Promise<Starts> {
  return await measure(count, () => startKeyturn({}, place))
}

async function measure(count: number, start: () => Promise<Keyturn>): Promise<Starts> {
  const millis: number[] = []
  const cpuSeconds: number[] = []
  for (let i = 0; i < count; i += 1) {
    const startedAt = performance.now()
    const keyturn = await start()
    while ((await fetch(`${keyturn.url}/readyz`)).status !== 200) await delay(1)
    millis.push(performance.now() - startedAt)
    cpuSeconds.push(cpuSecondsOf([keyturn.pid]))
    await keyturn.stop()
  }
  return { millis, cpuSeconds: spreadOf(cpuSeconds).median }
}
