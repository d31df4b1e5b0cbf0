/**
 * Everything goes through a pool that gives each transaction another connection, and the pool is restarted.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { PGBOUNCER, type PgBouncer, startPgBouncer } from './pgbouncer.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario } from './scenario.ts'

let server: PostgresServer | undefined
let pool: PgBouncer | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  if (PGBOUNCER !== undefined) server = await createPostgresServer()
})
afterEach(async () => {
  await replicas?.kill()
  await pool?.destroy()
  await server?.destroy()
})

const name = 'loses nothing behind PgBouncer in transaction mode, also when that is restarted'
const itWithPgBouncer = PGBOUNCER === undefined ? it.skip : it

itWithPgBouncer(
  PGBOUNCER === undefined ? `${name} (skipped: there is no pgbouncer on this machine)` : name,
  async () => {
    const database = server!
    const pgbouncer = await startPgBouncer(PGBOUNCER!, database.port)
    pool = pgbouncer
    replicas = await startReplicas({
      databaseUrl: database.url(pgbouncer.port),
      env: { KEYTURN_CHANGE_FEED: 'poll' },
    })
    const figures = await playScenario({
      name: 'PgBouncer in transaction mode, restarted once',
      replicas,
      server: () => database,
      fault: async ({ ledger }) => {
        await delay(4000)
        ledger.fault('kill -9 of pgbouncer')
        await pgbouncer.restart()
        await delay(4000)
      },
    })
    expect(figures.failures.unavailable).toBe(0)
  },
)
