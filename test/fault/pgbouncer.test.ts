/**
 * Everything goes through a pool that gives each transaction another connection, and the pool is restarted.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect } from '@jest/globals'
import { type PgBouncer, startPgBouncer, WITHOUT_PGBOUNCER } from '../support/pgbouncer.ts'
import { itUnless } from '../support/unless.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario } from './scenario.ts'

let server: PostgresServer | undefined
let pool: PgBouncer | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  if (WITHOUT_PGBOUNCER === undefined) server = await createPostgresServer()
})
afterEach(async () => {
  await replicas?.kill()
  await pool?.stop()
  await server?.destroy()
})

itUnless(WITHOUT_PGBOUNCER)(
  'loses nothing behind PgBouncer in transaction mode, also when that is restarted',
  async () => {
    const database = server!
    const pgbouncer = await startPgBouncer(database.url(), { poolSize: 8 })
    pool = pgbouncer
    replicas = await startReplicas({
      databaseUrl: pgbouncer.url,
      env: { KEYTURN_CHANGE_FEED: 'poll' },
    })
    const figures = await playScenario({
      name: 'PgBouncer in transaction mode, restarted once',
      replicas,
      server: () => database,
      fault: async ({ ledger }) => {
        await delay(2000)
        ledger.fault('kill -9 of pgbouncer')
        await pgbouncer.restart()
        await delay(2000)
      },
    })
    expect(figures.failures.unavailable).toBe(0)
  },
)
