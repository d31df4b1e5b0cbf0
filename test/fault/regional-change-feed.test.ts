/**
 * The change feed on a hot standby, which takes no LISTEN, and after its promotion.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createChangeFeed } from '../../src/storage/postgres/change-feed.ts'
import { createCounter } from '../support/counter.ts'
import { eventually } from '../support/eventually.ts'
import { createRecordingLog } from '../support/log.ts'
import type { PostgresServer } from './postgres-server.ts'
import { createStandby } from './regions.ts'

let primary: PostgresServer
let standby: PostgresServer
let unsubscribe = async (): Promise<void> => {}

beforeEach(async () => {
  ;({ primary, standby } = await createStandby())
})
afterEach(async () => {
  await unsubscribe()
  await standby?.destroy()
  await primary?.destroy()
})

it('is off on a standby, logs nothing of it, keeps its connection, and announces changes after the promotion', async () => {
  const log = createRecordingLog()
  const changes = createCounter()
  const feed = createChangeFeed({ url: standby.url(), log }, { heartbeat: 100 })
  unsubscribe = feed.subscribe(changes.hit)
  await eventually(() => expect(feed.status()).toBe('off'))
  const connections = () =>
    standby.query("select pid from pg_stat_activity where query = 'listen keyturn_changes' order by pid")
  const before = await connections()
  expect(before).toHaveLength(1)

  await standby.query('select pg_promote()')
  await eventually(() => expect(feed.status()).toBe('connected'))
  const counted = changes.count
  await standby.query("select pg_notify('keyturn_changes', '1')")
  await changes.reached(counted + 1)
  expect(await connections()).toEqual(before)
  expect(log.lines).toEqual([])
})
