/**
 * Changes are not announced. All is as safe as before, only later: within the second between comparisons of versions.
 *
 * The first scenario is the measure for the others: nothing is broken in it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario } from './scenario.ts'

const LOAD_MILLIS = Number(process.env.LOAD_MILLIS ?? 3_000)

let server: PostgresServer | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  server = await createPostgresServer()
})
afterEach(async () => {
  await replicas?.kill()
  await server?.destroy()
})

interface Variant {
  readonly name: string
  readonly env?: Readonly<Record<string, string>>
  /** Connections that listen while the load runs. */
  readonly listeners: number
}

async function play({ name, env = {}, listeners }: Variant) {
  const database = server!
  replicas = await startReplicas({ databaseUrl: database.url(), env })
  return playScenario({
    name,
    replicas,
    server: () => database,
    administerFirst: true,
    fault: async () => {
      await delay(LOAD_MILLIS)
      const rows = await database.query(
        `select from pg_stat_activity where query ilike 'listen %' and datname = 'keyturn'`,
      )
      expect(rows).toHaveLength(listeners)
    },
  })
}

describe('replicas that rotate keys all the time', () => {
  it('lose nothing when all is well', async () => {
    const { failures } = await play({ name: 'With NOTIFY, nothing is broken', listeners: 3 })
    expect(failures).toEqual({ refused: 0, reset: 0, silent: 0, unavailable: 0, wrong: 0 })
  })

  it('lose nothing when they do not listen', async () => {
    const { failures } = await play({
      name: 'Without NOTIFY: KEYTURN_CHANGE_FEED=poll',
      env: { KEYTURN_CHANGE_FEED: 'poll' },
      listeners: 0,
    })
    expect(failures).toEqual({ refused: 0, reset: 0, silent: 0, unavailable: 0, wrong: 0 })
  })

  it('lose nothing when they listen and nothing is ever announced', async () => {
    // As an engine does that takes NOTIFY and drops it: this function is found before the real one.
    await server!.query(`create function public.pg_notify(text, text) returns void language sql as ''`)
    await server!.query('alter database keyturn set search_path = public, pg_catalog')
    const { failures } = await play({ name: 'Without NOTIFY: all announcements are dropped', listeners: 3 })
    expect(failures).toEqual({ refused: 0, reset: 0, silent: 0, unavailable: 0, wrong: 0 })
  })
})
