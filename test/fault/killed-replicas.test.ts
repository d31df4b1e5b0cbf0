/**
 * Every second a random replica is killed, and started again at once: `KILLS` times, 5 by default.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { anyOf } from './administrator.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario, type Scene } from './scenario.ts'

const KILLS = Number(process.env.KILLS ?? 5)
const EVERY_MILLIS = 1000

let server: PostgresServer | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  server = await createPostgresServer()
})
afterEach(async () => {
  await replicas?.kill()
  await server?.destroy()
})

it('loses nothing and goes on issuing tokens while replicas are killed one after the other', async () => {
  const database = server!
  replicas = await startReplicas({ databaseUrl: database.url() })
  const figures = await playScenario({
    name: 'A replica is killed every second',
    replicas,
    server: () => database,
    fault: killOneEverySecond,
  })
  expect(figures.faults).toBe(KILLS)
})

/** Never the last one that serves: there would be nothing to learn from that nobody answers then. */
async function killOneEverySecond({ ledger, replicas, killAndRestart }: Scene): Promise<void> {
  const restarts: Promise<void>[] = []
  while (restarts.length < KILLS) {
    const serving = replicas.all.filter(({ running }) => running)
    if (serving.length > 1) {
      const victim = anyOf(serving)
      ledger.fault(`kill -9 of replica ${victim.name}`)
      restarts.push(killAndRestart(victim))
    }
    await delay(EVERY_MILLIS)
  }
  await Promise.all(restarts)
}
