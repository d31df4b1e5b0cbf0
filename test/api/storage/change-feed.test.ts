import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { createChangeFeed } from '../../../src/storage/postgres/change-feed.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { createCounter } from '../../support/counter.ts'
import { eventually } from '../../support/eventually.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { createRecordingLog, type RecordingLog } from '../../support/log.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'

const LISTENERS = `pid from pg_stat_activity where query = 'listen keyturn_changes' and datname = current_database()`

describe('the change feed', () => {
  let postgres: TestPostgres | undefined
  let database: Database | undefined
  let url: string
  let log: RecordingLog
  const cleanups: (() => Promise<unknown>)[] = []

  const subscribe = (address = url) => {
    const changes = createCounter()
    const unsubscribe = createChangeFeed({ url: address, log }).subscribe(changes.hit)
    cleanups.push(unsubscribe)
    return { changes, unsubscribe }
  }

  /** Kills the one connection that listens. */
  const killListener = async () => {
    // The one that was killed before may not have left yet.
    await eventually(async () => expect(await postgres!.query(`select ${LISTENERS}`, [], url)).toHaveLength(1))
    expect(
      await postgres!.query(`select pg_terminate_backend(pid) from (select ${LISTENERS}) as listeners`, [], url),
    ).toHaveLength(1)
  }

  beforeAll(async () => {
    postgres = sharedPostgres()
  })
  beforeEach(async () => {
    url = await postgres!.createDatabase()
    log = createRecordingLog()
    database = await openDatabase({ url, log })
    await migrate(database)
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup()
    await database?.close()
  })
  afterAll(async () => {
    await postgres?.stop()
  })

  it('calls back once when it listens, and once for each change of another connection', async () => {
    const { changes } = subscribe()
    await changes.reached(1)
    const keys = keyOperations(database!)
    const { keyId } = await keys.create()
    await changes.reached(2)
    await keys.activate(keyId)
    await changes.reached(3)
    await keys.look()
    await keys.create()
    await changes.reached(4)
    expect(changes.count).toBe(4)
  })

  it('listens again after its connection was killed, and calls back because it may have missed something', async () => {
    const { changes } = subscribe()
    await changes.reached(1)
    for (const expected of [2, 3]) {
      await killListener()
      await changes.reached(expected)
    }
    await keyOperations(database!).create()
    await changes.reached(4)
    expect(log.lines).toEqual([expect.stringContaining('terminating connection due to administrator command')])
  })

  it('notices a connection that was cut silently, and listens again', async () => {
    const proxy = await startTcpProxy(Number(new URL(url).port))
    cleanups.push(() => proxy.close())
    const options = { url: url.replace(/:\d+\//, `:${proxy.port}/`), log }
    const feed = createChangeFeed(options, { heartbeat: 50, timeout: 1000 })
    const changes = createCounter()
    cleanups.push(feed.subscribe(changes.hit))
    await changes.reached(1)
    // A database that is slow for a second is cut off, too.
    const isCalledBack = (before: number) => eventually(() => expect(changes.count).toBeGreaterThan(before))
    const listening = changes.count
    proxy.freeze()
    await isCalledBack(listening)
    const again = changes.count
    await keyOperations(database!).create()
    await isCalledBack(again)
    expect(new Set(log.lines)).toEqual(new Set([expect.stringContaining('Query read timeout')]))
  })

  it('neither announces nor listens when versions are only compared', async () => {
    const listener = new pg.Client({ connectionString: url })
    cleanups.push(() => listener.end())
    await listener.connect()
    await listener.query('listen keyturn_changes')
    const announced = once(listener, 'notification') as Promise<[pg.Notification]>

    const polled = createCounter()
    const feed = createChangeFeed({ url, log, changeFeed: 'poll' })
    cleanups.push(feed.subscribe(polled.hit))
    expect(feed.status()).toBe('off')
    const silent = await openDatabase({ url, log, changeFeed: 'poll' })
    cleanups.push(() => silent.close())
    await keyOperations(silent).create()
    await keyOperations(database!).create()
    // Announcements come in the order of the changes, and the first one is of the second change.
    expect((await announced)[0].payload).toBe('2')
    expect(polled.count).toBe(0)
  })
})
