/**
 * Every second a random replica is killed, and started again at once: `KILLS` times, 5 by default.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, it } from '@jest/globals'
import { anyOf } from './administrator.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replica, type Replicas, startReplicas } from './replicas.ts'
import { playScenario } from './scenario.ts'

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
  const running = await startReplicas({ databaseUrl: database.url() })
  replicas = running
  await playScenario({ replicas: running, server: () => database, fault: () => killOneEverySecond(running) })
})

/** Never the last one that serves: there would be nothing to learn from that nobody answers then. */
async function killOneEverySecond({ all }: Replicas): Promise<void> {
  const restarts: Promise<void>[] = []
  while (restarts.length < KILLS) {
    const serving = all.filter(({ running }) => running)
    if (serving.length > 1) restarts.push(killAndRestart(anyOf(serving)))
    await delay(EVERY_MILLIS)
  }
  await Promise.all(restarts)
}

async function killAndRestart(replica: Replica): Promise<void> {
  await replica.kill()
  await replica.start()
}
