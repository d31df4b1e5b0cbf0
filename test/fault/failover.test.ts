/**
 * The primary goes dark and its synchronous standby takes over, behind an address that stays the same.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario } from './scenario.ts'

let primary: PostgresServer | undefined
let standby: PostgresServer | undefined
let proxy: TcpProxy | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  const first = await createPostgresServer()
  primary = first
  await first.stop('fast')
  const second = await first.copy()
  standby = second
  await second.follow(first, 'standby')
  // A commit is answered when the standby has it too.
  await first.start(['synchronous_standby_names=standby'])
  await second.start()
  await eventually(async () => {
    const rows = await first.query('select sync_state from pg_stat_replication')
    expect(rows).toEqual([{ sync_state: 'sync' }])
  })
  proxy = await startTcpProxy(first.port, await freePort())
})
afterEach(async () => {
  await replicas?.kill()
  await proxy?.close()
  await standby?.destroy()
  await primary?.destroy()
})

it('loses nothing that was acknowledged when a synchronous standby takes over', async () => {
  const [dying, heir, address] = [primary!, standby!, proxy!]
  let serving = dying
  let takenOverAt = Number.POSITIVE_INFINITY
  replicas = await startReplicas({ databaseUrl: dying.url(address.port) })

  const ledger = await playScenario({
    replicas,
    server: () => serving,
    fault: async () => {
      await delay(2000)
      await dying.kill()
      serving = heir
      takenOverAt = performance.now()
      await heir.query('select pg_promote()')
      await address.close()
      proxy = await startTcpProxy(heir.port, address.port)
      await delay(2000)
    },
  })

  const created = ledger.changes.filter(({ kind, at }) => kind === 'create' && at > takenOverAt)
  expect(created.length).toBeGreaterThan(0)
})
