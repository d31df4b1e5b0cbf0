import { describe, expect, it } from '@jest/globals'
import { Replica } from '../../src/app/replica.ts'
import type { InstanceReader } from '../../src/domain/ports.ts'
import { createWebKey, type WebKey } from '../../src/domain/web-key.ts'
import { newKeyPair } from '../support/keys.ts'
import { createRecordingLog } from '../support/log.ts'
import { ManualClock } from './manual-clock.ts'

/** A replica of an instance in memory, whose keys the test changes. */
function replicaOf(ring: WebKey[]) {
  const reader: InstanceReader = {
    version: async () => ring.length,
    load: async () => ({ version: ring.length, ring: [...ring], sealedActiveKey: null, users: new Map() }),
    findServiceUser: async () => ({ version: ring.length, user: undefined }),
  }
  return new Replica({
    reader,
    feed: { subscribe: () => async () => {}, status: () => 'off' },
    signers: { open: () => Promise.reject(new Error('no key is active here')) },
    clock: new ManualClock(),
    log: createRecordingLog(),
    maxStalenessSeconds: 10,
  })
}

describe('a replica', () => {
  it('tells of a new key ring again after somebody could not take it over', async () => {
    const ring: WebKey[] = []
    const replica = replicaOf(ring)
    await replica.start()
    const seen: number[] = []
    let broken = false
    replica.onKeys((snapshot) => {
      if (broken) throw new Error('cannot take it over')
      seen.push(snapshot.ring.length)
    })

    ring.push(createWebKey(newKeyPair(), new Date()))
    broken = true
    await expect(replica.refresh()).rejects.toThrow('cannot take it over')
    expect(replica.keys().ring).toHaveLength(0)

    broken = false
    await replica.refresh()
    expect(seen).toEqual([0, 1])
    expect(replica.keys().ring).toHaveLength(1)
    await replica.stop()
  })
})
