/**
 * The part of the contract about `ReplicaStore`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Heartbeat } from '../../../src/domain/replicas.ts'
import { createReplicaStore } from '../../../src/storage/instance/replica-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'

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
  })
}
