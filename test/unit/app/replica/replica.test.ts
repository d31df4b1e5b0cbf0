import { describe, expect, it } from '@jest/globals'
import { Replica } from '../../../../src/app/replica/replica.ts'
import type { IdentityChanges } from '../../../../src/domain/changes.ts'
import { DomainError, UnreadableRow } from '../../../../src/domain/errors.ts'
import { createServiceUser, type ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../../src/domain/keys/rotation-policy.ts'
import {
  activate,
  createWebKey,
  deactivate,
  type InitialWebKey,
  type WebKey,
} from '../../../../src/domain/keys/web-key.ts'
import type {
  InstanceReader,
  InstanceState,
  InstanceStatus,
  NeededIdentities,
} from '../../../../src/domain/ports/instance.ts'
import { newKeyPair } from '../../../support/keys.ts'
import { createRecordingLog } from '../../../support/log.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const SECOND = 1000
const ISSUER = 'https://id.example.com'
const USER = createServiceUser(
  { userId: 'a', projectId: 'p', projectName: 'p', name: 'a', clientCredentialsEnabled: true },
  new Date(0),
)

/** An instance in memory that the test changes, and a replica of it. */
function createInstance({ maxStalenessSeconds = 10 } = {}) {
  const instance = {
    comparisons: 0,
    unreadable: undefined as Error | undefined,
    ring: [] as WebKey[],
    sealedActiveKey: null as string | null,
    version: 0,
    changedAt: new Date(0),
    clockOffset: 0,
    issuer: ISSUER,
    failure: undefined as Error | undefined,
    users: new Map<string, ServiceUser>(),
    /** What each load finds of the changes before it. */
    changes: { kind: 'any' } as IdentityChanges,
    /** Each load waits for it. */
    loading: Promise.resolve(),
    change(at: number) {
      instance.ring.push(createWebKey(newKeyPair(), new Date(at)))
      instance.version += 1
      instance.changedAt = new Date(at)
    },
  }
  const status = async (): Promise<InstanceStatus> => {
    instance.comparisons += 1
    if (instance.failure !== undefined) throw instance.failure
    const { version, changedAt } = instance
    return {
      version,
      changedAt,
      issuer: instance.issuer,
      clock: { databaseTime: new Date(0), offsetSeconds: instance.clockOffset },
      standby: null,
    }
  }
  const load = async ({ userIds = [] }: NeededIdentities = {}): Promise<InstanceState> => {
    await instance.loading
    if (instance.unreadable !== undefined) throw instance.unreadable
    return {
      ...(await status()),
      ring: [...instance.ring],
      sealedActiveKey: instance.sealedActiveKey,
      rotation: { policy: DEFAULT_ROTATION_POLICY, requestedAt: null },
      trustedIssuers: [],
      users: new Map([...instance.users].filter(([userId]) => userIds.includes(userId))),
    }
  }
  const reader: InstanceReader = {
    status,
    load,
    loadSince: async (_, choose) => {
      const { changes } = instance
      return { ...(await load(choose(changes))), changes }
    },
    findServiceUser: async (userId) => {
      const { version, changedAt } = await status()
      return { version, changedAt, user: instance.users.get(userId) }
    },
    findFederatedUsers: async () => ({ ...(await status()), userIds: [] }),
  }
  const clock = new ManualClock()
  const log = createRecordingLog()
  const replica = new Replica({
    reader,
    feed: { subscribe: () => async () => {}, status: () => 'off' },
    signers: { open: async (key) => ({ key, sign: async () => new Uint8Array() }) },
    clock,
    log,
    issuer: ISSUER,
    maxStalenessSeconds,
  })
  return { instance, replica, clock, log }
}

const unavailable = (message = 'the database is not available') => new DomainError('storage_unavailable', message)
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Moves on to the next comparison and lets it end. */
async function nextComparison(clock: ManualClock) {
  clock.advance(SECOND)
  await settle()
}

describe('a replica', () => {
  it('signs with the key that is active now, and tells who listens', async () => {
    const { instance, replica } = createInstance()
    instance.sealedActiveKey = 'sealed'
    for (const at of [1, 2]) instance.change(at)
    const [first, second] = instance.ring as [InitialWebKey, InitialWebKey]
    const told: (string | undefined)[] = []
    replica.onChange(({ signer }) => told.push(signer?.key.keyId))
    instance.ring = [activate(first, new Date(3)), second]
    await replica.start()
    instance.change(4)
    instance.ring = [deactivate(activate(first, new Date(3)), new Date(4)), activate(second, new Date(4))]
    await replica.refresh()
    expect(replica.keys().signer?.key.keyId).toBe(second.keyId)
    expect(told).toEqual([first.keyId, second.keyId])
    await replica.stop()
  })

  it('takes over a state that has gone back, and one of another history with the same number, and says so', async () => {
    const { instance, replica, log } = createInstance()
    await replica.start()
    for (const at of [1, 2, 3]) instance.change(at)
    await replica.refresh()
    expect(log.lines).toEqual([])

    instance.ring.pop()
    instance.version = 2
    instance.changedAt = new Date(2)
    await replica.refresh()
    expect({ version: replica.state.version, keys: replica.keys().ring.length }).toEqual({ version: 2, keys: 2 })
    expect(log.lines).toEqual([expect.stringMatching(/^warn the database has gone back.*"before":3,"now":2/)])

    instance.ring.pop()
    instance.changedAt = new Date(5)
    await replica.refresh()
    expect(replica.keys().ring).toHaveLength(1)
    expect(log.lines).toHaveLength(2)
    await replica.refresh()
    expect(log.lines).toHaveLength(2)
    await replica.stop()
  })

  it.each([0, 1, 2])(
    'forgets what it read of a change that a fail-over lost, %i other changes later',
    async (others) => {
      const { instance, replica } = createInstance()
      await replica.start()
      instance.change(1)
      instance.users.set('a', { ...USER, instanceRoles: ['IAM_OWNER'] })
      expect((await replica.identities.find('a'))?.instanceRoles).toEqual(['IAM_OWNER'])

      instance.version = 0
      instance.changedAt = new Date(0)
      instance.users.set('a', USER)
      instance.changes = { kind: 'some', userIds: new Set(), projectIds: new Set(), subjects: [] }
      for (let i = 0; i < others; i += 1) instance.change(10 + i)
      await replica.refresh()
      expect((await replica.identities.find('a'))?.instanceRoles).toEqual([])
      await replica.stop()
    },
  )
})

const BAD_ROW = new UnreadableRow({ kind: 'service_user', id: 'robot' }, 'service user robot is not valid')

describe('an own change', () => {
  it('is waited for while this replica cannot read it, and no longer than a change may take', async () => {
    const { instance, replica, clock } = createInstance()
    await replica.start()
    instance.change(1)
    instance.failure = unavailable()
    const inForce = replica.refreshAfterWrite()
    await settle()
    instance.failure = undefined
    await nextComparison(clock)
    await inForce
    expect(replica.keys().ring).toHaveLength(1)

    instance.change(2)
    instance.failure = unavailable()
    const refused = expect(replica.refreshAfterWrite()).rejects.toMatchObject({ code: 'change_not_in_force' })
    for (let second = 0; second <= 10; second += 1) await nextComparison(clock)
    await refused
    await replica.stop()
  })
})

describe('confirming what is about to be denied', () => {
  it('compares versions once for all who ask, ten times a second at most', async () => {
    const { instance, replica, clock } = createInstance()
    await replica.start()
    instance.change(1)
    const before = instance.comparisons
    await Promise.all([replica.confirm(), replica.confirm(), replica.confirm()])
    expect(replica.keys().ring).toHaveLength(1)
    // One to compare, and one of the load.
    expect(instance.comparisons).toBe(before + 2)

    instance.change(2)
    const late = [replica.confirm(), replica.confirm()]
    await settle()
    expect(instance.comparisons).toBe(before + 2)
    clock.advance(100)
    await Promise.all(late)
    expect(replica.keys().ring).toHaveLength(2)
    expect(instance.comparisons).toBe(before + 4)
    await replica.stop()
  })

  it.each([
    ['the database is lost', { failure: unavailable() }],
    ['a change cannot be taken over', { unreadable: BAD_ROW }],
  ])('fails when %s, so that nothing is denied', async (_, fault) => {
    const { instance, replica } = createInstance()
    await replica.start()
    instance.change(1)
    Object.assign(instance, fault)
    await expect(replica.confirm()).rejects.toMatchObject({ code: 'storage_unavailable' })
    await replica.stop()
  })
})
