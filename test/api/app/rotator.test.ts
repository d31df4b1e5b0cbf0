import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createDecryptabilityCheck } from '../../../src/app/keys/decryptability-check.ts'
import { startRotator as start } from '../../../src/app/keys/rotator.ts'
import { Replica } from '../../../src/app/replica/replica.ts'
import type { AuditEntry } from '../../../src/domain/audit.ts'
import {
  type KeyRing,
  planActivation,
  planCreation,
  type SealedKeyPair,
  unpublishedKeys,
} from '../../../src/domain/keys/key-ring.ts'
import { DEFAULT_ROTATION_POLICY, type RotationPolicy } from '../../../src/domain/keys/rotation-policy.ts'
import type { SealedKeyCheck } from '../../../src/domain/keys/sealed-keys.ts'
import type { KeyStore } from '../../../src/domain/ports/keys.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import { createSealedKeyStore } from '../../../src/storage/keys/sealed-key-store.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { eventually } from '../../support/eventually.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { newKeyPair } from '../../support/keys.ts'
import { createRecordingLog } from '../../support/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'

const SECOND = 1000
const LIMITS = { jwksMaxAgeSeconds: 0, tokenLifetimeSeconds: 1, maxStalenessSeconds: 10, maxWebKeys: 10 }

/** Of a replica. Much time passes here while a database that is slow answers. */
const MAX_STALENESS_SECONDS = 3600

/** A key signs for no time to speak of, so that each look finds something to do. */
const POLICY: RotationPolicy = {
  ...DEFAULT_ROTATION_POLICY,
  config: { kind: 'ecdsa', curve: 'P-256' },
  rotationIntervalSeconds: 1,
  publishAheadSeconds: 0,
  retentionSeconds: 3600,
  rollbackWindowSeconds: 3600,
}

let database: Database
let store: KeyStore
let rotators: { stop(): Promise<void> }[]
beforeAll(async () => {
  database = openDatabase({ url: await newPostgresDatabase(), log: createRecordingLog() })
  await migrate(database)
  store = createKeyStore(database, TEST_MACS)
})
beforeEach(async () => {
  rotators = []
  await database.db.deleteFrom('web_keys').execute()
  await database.db.deleteFrom('audit_events').execute()
})
afterEach(async () => {
  for (const rotator of rotators) await rotator.stop()
})
afterAll(() => database?.close())

/** An active key that has been signing for so long. */
async function seed(agedSeconds: number, policy: Partial<RotationPolicy> = {}): Promise<void> {
  await store.update(anEntry('seed'), (ring, clock) => {
    const now = new Date(clock.getTime() - agedSeconds * SECOND)
    const created = planCreation(ring, newKeyPair(), { now, maxWebKeys: 10 })
    const { steps } = planActivation([created.result], created.result.keyId, {
      guard: 'off',
      jwksMaxAgeSeconds: 0,
      now,
    })
    const rotation = { policy: { ...POLICY, ...policy }, requestedAt: null }
    return { steps: [...created.steps, ...steps], rotation, result: undefined }
  })
}

interface Options {
  readonly generate?: () => Promise<SealedKeyPair>
  readonly update?: KeyStore['update']
  readonly publish?: KeyStore['publish']
  /** Tries private keys; nothing is signed here. */
  readonly assertOpens?: SealedKeyCheck['assertOpens']
}

/** A replica of the database with a rotator, whose time is the test's. */
async function startRotator({
  generate = async () => newKeyPair(),
  update = store.update,
  publish = store.publish,
  assertOpens = async () => {},
}: Options = {}) {
  const clock = new ManualClock()
  const log = createRecordingLog()
  const refusals: string[] = []
  const replica = new Replica({
    reader: createInstanceReader(database, TEST_MACS),
    feed: { subscribe: () => async () => {}, status: () => 'off' },
    signers: { open: () => Promise.reject(new Error('nothing is signed here')) },
    clock,
    log: createRecordingLog(),
    issuer: 'https://id.example.com',
    maxStalenessSeconds: MAX_STALENESS_SECONDS,
  })
  await replica.start()
  const audit = { refuse: (entry: AuditEntry, outcome: string) => refusals.push(`${entry.action} ${outcome}`) }
  const rotator = start({
    store: { update, publish },
    generator: { generate },
    replica,
    decryptability: createDecryptabilityCheck({ keys: createSealedKeyStore(database), check: { assertOpens }, log }),
    limits: LIMITS,
    clock,
    now: () => new Date(),
    audit,
    log,
  })
  const stop = async () => {
    await rotator.stop()
    await replica.stop()
  }
  rotators.push({ stop })
  return { rotator, replica, clock, log, refusals, stop }
}

/** Lets time pass, second by second, until something is true. */
async function passTimeUntil(clocks: readonly ManualClock[], isTrue: () => void | Promise<void>): Promise<void> {
  await eventually(async () => {
    for (const clock of clocks) clock.advance(SECOND)
    await isTrue()
  })
}

async function states(): Promise<string[]> {
  return (await createInstanceReader(database, TEST_MACS).load()).ring.map(({ state }) => state)
}

async function undated(): Promise<KeyRing> {
  return unpublishedKeys((await createInstanceReader(database, TEST_MACS).load()).ring)
}

async function events(): Promise<string[]> {
  const rows = await database.db.selectFrom('audit_events').selectAll().where('actor', '=', 'system').execute()
  return rows.map(({ action, resource, outcome }) => `${action} ${resource.split('/')[0]} ${outcome}`)
}

describe('a rotator', () => {
  it('makes the step whose time has come, and writes it down', async () => {
    await seed(100)
    const { clock, log } = await startRotator()
    await passTimeUntil([clock], async () => expect(await states()).toEqual(['active', 'initial']))
    expect(await events()).toEqual(['rotation/create web_keys ok'])
    const told = () => log.lines.filter((line) => line.includes('the rotation of web keys went on'))
    // It is told when this replica has taken the step over, which is after it can be seen in the database.
    await eventually(() => expect(told()).toHaveLength(1))
  })

  it('dates the publication of a key whose creator has not, with rotation on or off', async () => {
    for (const enabled of [true, false]) {
      await seed(0, { enabled, rotationIntervalSeconds: 3600 * 24 })
      await store.update(anEntry('by hand'), (ring, now) => planCreation(ring, newKeyPair(), { now, maxWebKeys: 10 }))
      const { clock, stop } = await startRotator()
      await passTimeUntil([clock], async () => expect(await undated()).toEqual([]))
      await stop()
      await database.db.deleteFrom('web_keys').execute()
    }
  })

  it('leaves a step to the first replica: two of them create one key', async () => {
    await seed(100)
    let waiting = 0
    let go = () => {}
    const together = new Promise<void>((resolve) => {
      go = resolve
    })
    // Both have made a key pair before either of them asks for the lock.
    const generate = async () => {
      waiting += 1
      if (waiting === 2) go()
      await together
      return newKeyPair()
    }
    const [a, b] = [await startRotator({ generate }), await startRotator({ generate })]
    await passTimeUntil([a.clock, b.clock], async () => {
      expect(await states()).toEqual(['active', 'initial'])
      expect(waiting).toBe(2)
    })
    await a.stop()
    await b.stop()
    expect(await states()).toEqual(['active', 'initial'])
    expect(await events()).toEqual(['rotation/create web_keys ok'])
    expect([...a.refusals, ...b.refusals]).toEqual([])
    expect(a.rotator.status().failures + b.rotator.status().failures).toBe(0)
  })

  it('counts and writes down failures, tries again later each time, and goes on', async () => {
    await seed(100)
    let broken = true
    let attempts = 0
    const generate = async () => {
      attempts += 1
      if (broken) throw new Error('the generator is broken')
      return newKeyPair()
    }
    const { clock, rotator, refusals, log } = await startRotator({ generate })
    await passTimeUntil([clock], () => expect(attempts).toBe(4))
    // At 1 s, and then after 1, 2 and 4 s at least.
    expect(clock.monotonic()).toBeGreaterThanOrEqual(8 * SECOND)
    await eventually(() => expect(rotator.status().failures).toBe(4))
    expect(rotator.status().overdueSeconds).toBeGreaterThanOrEqual(99)
    expect(refusals).toEqual(Array(4).fill('rotation/create ROTATION_FAILED'))
    expect(log.lines.filter((line) => line.startsWith('error a step of the rotation failed'))).toHaveLength(4)

    broken = false
    await passTimeUntil([clock], async () => expect(await states()).toEqual(['active', 'initial']))
    expect(rotator.status().failures).toBe(4)
  })

  it('does not let a key sign that it cannot open: that is a failure, and the key before signs on', async () => {
    await seed(100)
    await store.update(anEntry('standby'), (ring, clock) => {
      const now = new Date(clock.getTime() - 90 * SECOND)
      const { steps } = planCreation(ring, newKeyPair(), { now, maxWebKeys: 10 })
      return { steps, result: undefined }
    })
    let masterKeyIsThere = false
    const { clock, rotator, refusals, log } = await startRotator({
      assertOpens: async ({ keyId }) => {
        if (!masterKeyIsThere) throw new Error(`master key "mk-new" sealed ${keyId} and is not configured`)
      },
    })
    await passTimeUntil([clock], () => expect(rotator.status().failures).toBe(2))
    expect(await states()).toEqual(['active', 'initial'])
    expect(await events()).toEqual([])
    expect(refusals).toEqual(Array(2).fill('rotation/activate ROTATION_FAILED'))
    const [failure] = log.lines.filter((line) => line.startsWith('error a step of the rotation failed'))
    expect(failure).toContain('web_key_cannot_be_opened')

    masterKeyIsThere = true
    await passTimeUntil([clock], async () => expect((await states()).slice(0, 2)).toEqual(['inactive', 'active']))
  })
})
