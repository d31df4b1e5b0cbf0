import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { createInstanceReader } from '../../src/storage/instance/instance-reader.ts'
import { type Database, openDatabase } from '../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../support/integrity.ts'
import { keyOperations } from '../support/key-operations.ts'
import { createRecordingLog } from '../support/log.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startWorker, type Worker } from '../support/processes.ts'
import type { Done, Started, Task } from './activation-worker.ts'

const PROCESSES = 5
const ACTIVATIONS_EACH = Number(process.env.ACTIVATIONS ?? 80)
const KEYS = 8

describe('several replicas on one PostgreSQL', () => {
  let postgres: TestPostgres | undefined
  let database: Database | undefined
  let url: string
  let workers: Worker[] = []

  beforeAll(async () => {
    postgres = sharedPostgres()
  })
  beforeEach(async () => {
    url = await postgres!.createDatabase()
    database = await openDatabase({ url, log: createRecordingLog() })
    const script = new URL('activation-worker.ts', import.meta.url)
    workers = Array.from({ length: PROCESSES }, () => startWorker(script, [url]))
  })
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill()))
    await database?.close()
  })
  afterAll(async () => {
    await postgres?.stop()
  })

  it('migrate and initialise an empty database exactly once when all start at the same time', async () => {
    const started = await Promise.all(workers.map((worker) => worker.next<Started>()))
    expect(started.flatMap(({ migrated }) => migrated)).toEqual(['0001-initial-schema'])
    expect(started.filter(({ initialised }) => initialised)).toHaveLength(1)
    const { version, ring } = await createInstanceReader(database!, TEST_MACS).load()
    expect({ version, states: ring.map(({ state }) => state) }).toEqual({ version: 1, states: ['active'] })
  })

  it('never have two active keys while all of them activate different ones [Spec §3]', async () => {
    await Promise.all(workers.map((worker) => worker.next<Started>()))
    const keys = keyOperations(database!)
    const created = []
    for (let count = 0; count < KEYS; count += 1) created.push(await keys.create())
    const task: Task = { keyIds: created.map(({ keyId }) => keyId), activations: ACTIVATIONS_EACH }
    for (const worker of workers) worker.send(task)

    const seen = new Set<number>()
    const [done] = await Promise.all([
      Promise.all(workers.map((worker) => worker.next<Done>())).finally(() => seen.add(-1)),
      pollActiveKeys(url, seen),
    ])

    // Exactly one at every moment: the instance was initialised with one, and a change never leaves none.
    expect(seen).toEqual(new Set([1, -1]))
    expect(done.flatMap(({ errors }) => errors)).toEqual([])

    const changes = done.reduce((sum, worker) => sum + worker.changes, 0)
    const { version, ring } = await createInstanceReader(database!, TEST_MACS).load()
    expect(changes).toBeGreaterThan(PROCESSES * ACTIVATIONS_EACH * 0.5)
    expect(version).toBe(1 + KEYS + changes)
    expect(ring).toHaveLength(1 + KEYS)
    const active = ring.filter((key) => key.state === 'active')
    expect(active).toHaveLength(1)
    for (const key of ring) {
      if (key.state === 'inactive') expect(key.deactivatedAt <= active[0]!.activatedAt).toBe(true)
    }
  })
})

/** Counts active keys over and over, on a connection of its own, until `-1` is among what was seen. */
async function pollActiveKeys(url: string, seen: Set<number>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    while (!seen.has(-1)) {
      const { rows } = await client.query<{ active: number }>(
        `select count(*)::int as active from web_keys where state = 'active'`,
      )
      seen.add(rows[0]!.active)
    }
  } finally {
    await client.end()
  }
}
