/**
 * The part of the contract about `ReplicaStore`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Heartbeat } from '../../../src/domain/replicas.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createReplicaStore } from '../../../src/storage/instance/replica-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../../support/integrity.ts'

const heartbeat = (facts: Partial<Heartbeat> = {}): Heartbeat => ({
  replicaId: randomUUID(),
  hostName: 'pod-1',
  keyturnVersion: '1.2.3',
  startedAt: new Date('2026-03-01T12:00:00Z'),
  version: 0,
  lagSeconds: null,
  ready: true,
  reason: '',
  ...facts,
})

export function describeReplicaStore(current: () => Database): void {
  const store = () => createReplicaStore(current())
  const age = (replicaId: string, interval: string) =>
    sql`update replicas set last_seen_date = clock_timestamp() - ${interval}::interval where replica_id = ${replicaId}`.execute(
      current().db,
    )
  const ids = async () => (await store().list()).replicas.map(({ replicaId }) => replicaId)

  describe('heartbeats of replicas', () => {
    it('say what each replica was like when it was last seen, by the clock of the database', async () => {
      const first = heartbeat()
      const second = heartbeat({
        startedAt: new Date('2026-03-01T13:00:00Z'),
        lagSeconds: 0.012,
        ready: false,
        reason: 'no web key is active',
      })
      await store().beat(second)
      await store().beat(first)
      const { replicas } = await store().list()
      expect(replicas).toEqual(
        [first, second].map((facts) => ({
          ...facts,
          lastSeenAt: expect.any(Date),
          secondsSinceSeen: expect.any(Number),
          versionsBehind: 0,
        })),
      )
      for (const { secondsSinceSeen } of replicas) expect(secondsSinceSeen).toBeLessThan(60)
    })

    it('replace the one before, and count the changes that the replica lacks', async () => {
      await sql`update instance set version = 7`.execute(current().db)
      const before = heartbeat({ version: 7 })
      await store().beat(before)
      const changed = { ...before, version: 5, lagSeconds: 1, ready: false, reason: 'why' }
      await store().beat(changed)
      expect(await store().list()).toMatchObject({
        newestVersion: 7,
        replicas: [{ ...changed, versionsBehind: 2 }],
      })
    })

    it('lack nothing after the database has gone back to an older version', async () => {
      await store().beat(heartbeat({ version: 9 }))
      expect((await store().list()).replicas).toMatchObject([{ version: 9, versionsBehind: 0 }])
    })

    it('end with the replica that is removed', async () => {
      const [first, second] = [heartbeat(), heartbeat()]
      for (const replica of [first, second]) await store().beat(replica)
      await store().remove(first.replicaId)
      await store().remove(first.replicaId)
      expect(await ids()).toEqual([second.replicaId])
      await store().remove(second.replicaId)
      expect(await store().list()).toEqual({ newestVersion: 0, replicas: [] })
    })

    it('are forgotten an hour after the last one, also those of a clock that was ahead', async () => {
      const [lost, ahead, recent, own] = [heartbeat(), heartbeat(), heartbeat(), heartbeat()]
      for (const replica of [lost, ahead, recent, own]) await store().beat(replica)
      await age(lost.replicaId, '61 minutes')
      await age(ahead.replicaId, '-61 minutes')
      await age(recent.replicaId, '59 minutes')
      await age(own.replicaId, '2 hours')
      await store().beat(own)
      expect((await ids()).sort()).toEqual([recent.replicaId, own.replicaId].sort())
    })

    it('are kept of 200 replicas, those that were seen last', async () => {
      await sql`
        insert into replicas (replica_id, host_name, keyturn_version, start_date, last_seen_date, version, versions_behind, ready, reason)
        select gen_random_uuid(), 'pod-' || number, '1.2.3', clock_timestamp(), clock_timestamp() - number * interval '1 second', 0, 0, true, ''
        from generate_series(1, 300) number`.execute(current().db)
      const own = heartbeat()
      await store().beat(own)
      const { replicas } = await store().list()
      expect(replicas).toHaveLength(200)
      const names = replicas.filter(({ replicaId }) => replicaId !== own.replicaId).map(({ hostName }) => hostName)
      expect(new Set(names)).toEqual(new Set(Array.from({ length: 199 }, (_, index) => `pod-${index + 1}`)))
      const { rows } = await sql`select 1 from replicas`.execute(current().db)
      expect(rows).toHaveLength(200)
    })

    it('work for many replicas at once, and are no change of the instance', async () => {
      const version = (await createInstanceReader(current(), TEST_MACS).status()).version
      const replicas = Array.from({ length: 20 }, () => heartbeat())
      for (let round = 0; round < 3; round += 1) await Promise.all(replicas.map((replica) => store().beat(replica)))
      expect((await ids()).sort()).toEqual(replicas.map(({ replicaId }) => replicaId).sort())
      expect((await createInstanceReader(current(), TEST_MACS).status()).version).toBe(version)
    })
  })
}
