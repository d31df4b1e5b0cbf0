import { describe, expect, it } from '@jest/globals'
import { changesLacking, presenceOf, type SeenReplica } from '../../../src/domain/replicas.ts'

const replica = (facts: Partial<SeenReplica>): SeenReplica => ({
  replicaId: '00000000-0000-4000-8000-000000000001',
  hostName: '',
  keyturnVersion: '1.2.3',
  startedAt: new Date('2026-03-01T12:00:00Z'),
  version: 5,
  lagSeconds: null,
  ready: true,
  reason: '',
  lastSeenAt: new Date('2026-03-01T13:00:00Z'),
  secondsSinceSeen: 1,
  versionsBehind: 0,
  ...facts,
})

describe('the presence of a replica', () => {
  it.each([
    [0, 'seen'],
    [11.9, 'seen'],
    [12, 'overdue'],
    [59.9, 'overdue'],
    [60, 'gone'],
    // The clock of the database has gone back.
    [-11, 'seen'],
    [-3600, 'gone'],
  ] as const)('%d seconds after its heartbeat is "%s"', (secondsSinceSeen, presence) => {
    expect(presenceOf({ secondsSinceSeen })).toBe(presence)
  })
})

describe('the changes that a replica lacks', () => {
  it('are what it said, while it is seen: it may know of those since', () => {
    expect(changesLacking(replica({ version: 5 }), 9)).toBe(0)
    expect(changesLacking(replica({ version: 5, versionsBehind: 1 }), 9)).toBe(1)
  })

  it('are all since its version, when it is not seen any more', () => {
    expect(changesLacking(replica({ version: 5, secondsSinceSeen: 12 }), 9)).toBe(4)
    expect(changesLacking(replica({ version: 5, secondsSinceSeen: 100 }), 5)).toBe(0)
  })

  it('are none less because the database has gone back', () => {
    expect(changesLacking(replica({ version: 5, secondsSinceSeen: 100, versionsBehind: 1 }), 3)).toBe(1)
  })
})
