/**
 * PostgreSQL is stopped in immediate mode, without a word to anybody, and started again; and its connections are
 * terminated over and over.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario } from './scenario.ts'

/** How often all connections are terminated. */
const TERMINATIONS = Number(process.env.TERMINATIONS ?? 12)

let server: PostgresServer | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  server = await createPostgresServer()
})
afterEach(async () => {
  await replicas?.kill()
  await server?.destroy()
})

describe('a database that comes and goes', () => {
  it('loses nothing when it is restarted in immediate mode, twice', async () => {
    const database = server!
    replicas = await startReplicas({ databaseUrl: database.url() })
    const figures = await playScenario({
      name: 'PostgreSQL is restarted in immediate mode, twice',
      replicas,
      server: () => database,
      fault: async ({ ledger }) => {
        for (let restart = 1; restart <= 2; restart += 1) {
          ledger.fault('immediate stop of PostgreSQL')
          await database.stop('immediate')
          await delay(1000)
          await database.start()
          await delay(2000)
        }
      },
    })
    // Tokens come from memory.
    expect(figures.failures.unavailable).toBe(0)
  })

  it('loses nothing when all its connections are terminated, three times a second', async () => {
    const database = server!
    replicas = await startReplicas({ databaseUrl: database.url() })
    const figures = await playScenario({
      name: 'All connections to PostgreSQL are terminated, three times a second',
      replicas,
      server: () => database,
      fault: async ({ ledger }) => {
        for (let round = 1; round <= TERMINATIONS; round += 1) {
          ledger.fault('all connections are terminated')
          await database.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
             where backend_type = 'client backend' and pid <> pg_backend_pid()`,
          )
          await delay(300)
        }
      },
    })
    expect(figures.failures.unavailable).toBe(0)
  })
})
