import { describe, expect, it } from '@jest/globals'
import { InstanceClock } from '../../src/app/instance-clock.ts'
import { Replica } from '../../src/app/replica.ts'
import { DomainError } from '../../src/domain/errors.ts'
import type { InstanceReader, InstanceStatus } from '../../src/domain/ports.ts'
import { DEFAULT_ROTATION_POLICY } from '../../src/domain/rotation-policy.ts'
import { createWebKey, type WebKey } from '../../src/domain/web-key.ts'
import { newKeyPair } from '../support/keys.ts'
import { createRecordingLog } from '../support/log.ts'
import { ManualClock } from './manual-clock.ts'

const SECOND = 1000
const ISSUER = 'https://id.example.com'

/** An instance in memory that the test changes, and a replica of it. */
function createInstance() {
  const instance = {
    ring: [] as WebKey[],
    version: 0,
    changedAt: new Date(0),
    databaseTime: new Date(0),
    issuer: ISSUER,
    failure: undefined as Error | undefined,
    change(at: number) {
      instance.ring.push(createWebKey(newKeyPair(), new Date(at)))
      instance.version += 1
      instance.changedAt = new Date(at)
    },
  }
  const status = async (): Promise<InstanceStatus> => {
    if (instance.failure !== undefined) throw instance.failure
    const { version, changedAt, databaseTime } = instance
    return { version, changedAt, issuer: instance.issuer, clock: { databaseTime, notBefore: 0, notAfter: 0 } }
  }
  const reader: InstanceReader = {
    status,
    load: async () => ({
      ...(await status()),
      ring: [...instance.ring],
      sealedActiveKey: null,
      rotation: { policy: DEFAULT_ROTATION_POLICY, requestedAt: null },
      users: new Map(),
    }),
    findServiceUser: async () => ({ version: (await status()).version, user: undefined }),
  }
  const clock = new ManualClock()
  const log = createRecordingLog()
  const time = new InstanceClock({ machine: () => new Date(0), monotonic: () => 0, log: createRecordingLog() })
  const replica = new Replica({
    reader,
    feed: { subscribe: () => async () => {}, status: () => 'off' },
    signers: { open: () => Promise.reject(new Error('no key is active here')) },
    clock,
    time,
    log,
    issuer: ISSUER,
    maxStalenessSeconds: 10,
  })
  return { instance, replica, clock, log, time }
}

const unavailable = (message = 'the database is not available') => new DomainError('storage_unavailable', message)
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Moves on to the next comparison and lets it end. */
async function nextComparison(clock: ManualClock) {
  clock.advance(SECOND)
  await settle()
}

describe('a replica', () => {
  it('tells of a new key ring again after somebody could not take it over', async () => {
    const { instance, replica } = createInstance()
    await replica.start()
    const seen: number[] = []
    let broken = false
    replica.onKeys((snapshot) => {
      if (broken) throw new Error('cannot take it over')
      seen.push(snapshot.ring.length)
    })

    instance.change(1)
    broken = true
    await expect(replica.refresh()).rejects.toThrow('cannot take it over')
    expect(replica.keys().ring).toHaveLength(0)
    // That is no reason to keep administration from the database.
    expect(replica.isReachable()).toBe(true)

    broken = false
    await replica.refresh()
    expect(seen).toEqual([0, 1])
    expect(replica.keys().ring).toHaveLength(1)
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
    expect({ version: replica.status().version, keys: replica.keys().ring.length }).toEqual({ version: 2, keys: 2 })
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

  it('tells how long each change took to get here, by the clock of the database', async () => {
    const { instance, replica } = createInstance()
    instance.change(1000)
    await replica.start()
    const lags: number[] = []
    const forget = replica.onLag((lag) => lags.push(lag))
    expect(replica.status().lagSeconds).toBeNull()

    instance.change(500_000)
    instance.databaseTime = new Date(500_250)
    await replica.refresh()
    await replica.refresh()
    expect({ lags, last: replica.status().lagSeconds }).toEqual({ lags: [0.25], last: 0.25 })

    forget()
    instance.change(600_000)
    await replica.refresh()
    expect(lags).toHaveLength(1)
    await replica.stop()
  })

  it('keeps the time of the instance', async () => {
    const { instance, replica, time } = createInstance()
    instance.databaseTime = new Date(600_000)
    await replica.start()
    expect(time.now()).toEqual(new Date(600_000))
    await replica.stop()
  })

  it('refuses at once what needs the database from the first comparison that fails to the next that does not', async () => {
    const { instance, replica, clock } = createInstance()
    await replica.start()
    instance.failure = unavailable()
    expect(replica.isReachable()).toBe(true)
    await nextComparison(clock)
    expect(replica.isReachable()).toBe(false)
    expect(() => replica.assertReachable()).toThrow(unavailable())
    await expect(replica.findServiceUser('new')).rejects.toMatchObject({ code: 'storage_unavailable' })
    expect(replica.readiness()).toEqual({ ready: false, reason: expect.stringContaining('no web key is active') })

    instance.failure = undefined
    await nextComparison(clock)
    expect(replica.isReachable()).toBe(true)
    expect(await replica.findServiceUser('new')).toBeUndefined()
    await replica.stop()
  })

  it('says for how long it has not been confirmed, what the limit is, and why', async () => {
    const { instance, replica, clock } = createInstance()
    await replica.start()
    instance.failure = unavailable('it is out')
    for (let second = 0; second < 12; second += 1) await nextComparison(clock)
    expect(replica.readiness()).toEqual({
      ready: false,
      reason: 'the database has not confirmed the state of the instance for 12 s, the limit is 10 s: it is out',
    })
    expect(() => replica.keys()).toThrow(DomainError)

    instance.failure = undefined
    await nextComparison(clock)
    expect(replica.keys().ring).toEqual([])
    await replica.stop()
  })

  it('treats another issuer like the loss of the database, and says how to go on', async () => {
    const { instance, replica, clock } = createInstance()
    await replica.start()
    instance.issuer = 'https://tokens.example.com'
    await nextComparison(clock)
    const why =
      'the issuer of the instance has been changed to https://tokens.example.com: start this server again with'
    expect(() => replica.assertReachable()).toThrow(why)
    for (let second = 0; second < 11; second += 1) await nextComparison(clock)
    expect(replica.readiness()).toEqual({ ready: false, reason: expect.stringContaining(why) })

    instance.issuer = ISSUER
    await nextComparison(clock)
    expect(() => replica.assertReachable()).not.toThrow()
    await replica.stop()
  })

  it('logs a failure when it begins, when the reason changes and every minute, and that it is over', async () => {
    const { instance, replica, clock, log } = createInstance()
    await replica.start()
    instance.failure = unavailable('one')
    for (let second = 0; second < 5; second += 1) await nextComparison(clock)
    expect(log.lines).toHaveLength(1)
    instance.failure = unavailable('another')
    for (let second = 0; second < 60; second += 1) await nextComparison(clock)
    expect(log.lines).toHaveLength(2)
    await nextComparison(clock)
    expect(log.lines).toHaveLength(3)
    instance.failure = undefined
    for (let second = 0; second < 5; second += 1) await nextComparison(clock)
    expect(log.lines.slice(3)).toEqual([expect.stringMatching(/^info the state of the instance can be read again/)])
    await replica.stop()
  })
})
