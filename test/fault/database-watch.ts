/**
 * Looks into the database all the time: there is never more than one active key, and the version never goes back.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Ledger } from './ledger.ts'

const EVERY_MILLIS = 50

/** A watch that goes on until it is stopped. */
export interface DatabaseWatch {
  /** How many times it has looked so far. */
  looks(): number
  stop(): Promise<void>
}

/** Starts looking. @param url Asked before each connection. */
export function startDatabaseWatch(url: () => string, ledger: Ledger): DatabaseWatch {
  let stopped = false
  let looks = 0
  let newest = -1

  const look = async (client: pg.Client) => {
    const { rows } = await client.query<{ version: string; active: number }>(
      `select version, (select count(*)::int from web_keys where state = 'active') as active from instance`,
    )
    const [row] = rows
    if (row === undefined) return ledger.wrong('the instance has no row')
    if (row.active > 1) ledger.wrong(`${row.active} keys are active`)
    if (Number(row.version) < newest) ledger.wrong(`version ${row.version} came after version ${newest}`)
    newest = Number(row.version)
    looks += 1
  }
  const lookWhileConnected = async () => {
    const client = new pg.Client({ connectionString: url(), connectionTimeoutMillis: 2_000, query_timeout: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      while (!stopped) {
        await look(client)
        await delay(EVERY_MILLIS)
      }
    } catch {
      // The database is the thing that is broken on purpose.
    } finally {
      await client.end().catch(() => {})
    }
  }
  const run = async () => {
    while (!stopped) {
      await lookWhileConnected()
      await delay(EVERY_MILLIS)
    }
  }
  const running = run()
  return {
    looks: () => looks,
    stop: async () => {
      stopped = true
      await running
    },
  }
}
