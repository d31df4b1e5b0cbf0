/**
 * From the start of the process until it is ready, on a database that is there already.
 */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type InstanceSettings, postgresInstance, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { spreadOf } from '../statistics.ts'
import type { Bench, Result } from './scenario.ts'
import { timesRow } from './times.ts'

/** PostgreSQL and embedded. The first start of each, which makes everything, does not count. */
export async function startUp({ postgres, effort }: Bench, place: Place): Promise<Result> {
  const onPostgres = await startTimes(postgresInstance(await postgres.createDatabase()), effort.starts, place)
  const embedded = await startTimes({}, effort.starts, place)
  const target = (name: string, millis: readonly number[], seconds: number) => ({
    name,
    limit: { atMost: seconds },
    unit: 's',
    measured: spreadOf(millis).median / 1000,
  })
  return {
    title: 'start to ready',
    rows: [timesRow('existing PostgreSQL', onPostgres), timesRow('embedded, second start', embedded)],
    targets: [
      target('start to ready, existing PostgreSQL', onPostgres, 1),
      target('start to ready, embedded, second start', embedded, 2),
    ],
    notes: [],
  }
}

async function startTimes(settings: InstanceSettings, count: number, place: Place): Promise<number[]> {
  const dataDir = await mkdtemp(join(place.folder, 'keyturn-'))
  const first = await startKeyturn({ ...settings, dataDir }, place)
  await first.stop()
  const millis: number[] = []
  for (let i = 0; i < count; i += 1) {
    const startedAt = performance.now()
    const keyturn = await startKeyturn({ ...settings, dataDir }, place)
    while ((await fetch(`${keyturn.url}/readyz`)).status !== 200) await delay(1)
    millis.push(performance.now() - startedAt)
    await keyturn.stop()
  }
  return millis
}
