/**
 * When keys of issuers are fetched, and by which replica: real databases and servers, and time that the test lets pass.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { SignJWT } from 'jose'
import { IssuerKeyRefresher } from '../../../src/app/federation/issuer-key-refresher.ts'
import { InstanceClock } from '../../../src/app/replica/instance-clock.ts'
import { Replica } from '../../../src/app/replica/replica.ts'
import { verifyFederatedToken } from '../../../src/crypto/federated-token.ts'
import { parsePublishedKeys } from '../../../src/crypto/issuer-key.ts'
import { addIssuer, editIssuer, type TrustedIssuer } from '../../../src/domain/federation/trusted-issuer.ts'
import type { IssuerKeyStore } from '../../../src/domain/ports/federation.ts'
import { createAddressPolicy } from '../../../src/outbound/address-policy.ts'
import { createGetDocument } from '../../../src/outbound/https-document.ts'
import { createIssuerKeyFetcher } from '../../../src/outbound/issuer-key-fetcher.ts'
import { createFederationStore } from '../../../src/storage/federation/federation-store.ts'
import { createIssuerKeyStore } from '../../../src/storage/federation/issuer-key-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type HttpsIssuer,
  type IssuerKeyPair,
  json,
  newIssuerKey,
  startHttpsIssuer,
} from '../../support/https-issuer.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { createRecordingLog } from '../../support/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'
import { createAuthority } from '../../support/server-certificates.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const NAME = 'https://issuer.example'
const START = new Date('2026-11-23T08:00:00Z')

const authority = createAuthority()
let database: Database
let issuer: HttpsIssuer
let clock: ManualClock
let started: { stop(): Promise<void> }[]

beforeAll(async () => {
  database = openDatabase({ url: await newPostgresDatabase(), log: createRecordingLog() })
  await migrate(database)
})
beforeEach(async () => {
  started = []
  clock = new ManualClock()
  issuer = await startHttpsIssuer(authority)
  await database.db.deleteFrom('trusted_issuers').execute()
  await database.db.deleteFrom('audit_events').execute()
})
afterEach(async () => {
  for (const each of started) await each.stop()
  await issuer.stop()
})
afterAll(() => database?.close())

const now = () => new Date(START.getTime() + clock.monotonic())

/** Trusts the issuer, whose keys may be so old. */
async function trust({ maxStalenessSeconds = 86_400 } = {}): Promise<string> {
  const issuerId = randomUUID()
  const url = `${issuer.url}/jwks`
  const source = { kind: 'jwks_url', url, caCertificates: authority.cert, maxStalenessSeconds } as const
  const facts = {
    issuerId,
    issuer: NAME,
    keys: { kind: 'fetched', source },
    algorithms: [],
    maxLifetimeSeconds: 0,
  } as const
  await createFederationStore(database, TEST_MACS).change(anEntry('trust'), (issuers) => ({
    next: addIssuer(issuers, facts, { moment: { clock: now(), date: now() }, own: 'https://id.example' }),
    result: null,
  }))
  return issuerId
}

function publish(...keys: readonly IssuerKeyPair[]): void {
  issuer.answer('/jwks', json({ keys: keys.map(({ jwk }) => jwk) }))
}

/** A replica with a refresher. @param isOnStandby Whether its database is a standby, which it can only read. */
async function startReplica(wrap: (store: IssuerKeyStore) => IssuerKeyStore = (store) => store, isOnStandby = false) {
  const log = createRecordingLog()
  const time = new InstanceClock({ machine: () => new Date(), monotonic: () => performance.now(), log })
  const replica = new Replica({
    reader: createInstanceReader(database, TEST_MACS),
    feed: { subscribe: () => async () => {}, status: () => 'off' },
    signers: { open: () => Promise.reject(new Error('nothing is signed here')) },
    clock,
    time,
    log: createRecordingLog(),
    issuer: 'https://id.example.com',
    maxStalenessSeconds: 86_400 * 365,
  })
  await replica.start()
  const get = createGetDocument({ allows: createAddressPolicy(['127.0.0.1', '::1']), setting: 'SETTING' })
  const refresher = new IssuerKeyRefresher({
    store: wrap(createIssuerKeyStore(database, TEST_MACS)),
    // What hangs is ended by the refresher here.
    fetcher: createIssuerKeyFetcher({ get, parseKeys: parsePublishedKeys, timeoutMillis: 10 * MINUTE }),
    replica: {
      isFresh: () => replica.isFresh(),
      isReachable: () => replica.isReachable(),
      isWritable: () => !isOnStandby && replica.isWritable(),
      trustedIssuers: () => replica.trustedIssuers(),
      noteKeyFetch: (issuer) => replica.noteKeyFetch(issuer),
      refreshOrLog: () => replica.refreshOrLog(),
    },
    clock,
    now,
    newId: randomUUID,
    log,
  })
  refresher.start()
  const stop = async () => {
    await refresher.stop()
    await replica.stop()
  }
  started.push({ stop })
  const verify = async (key: IssuerKeyPair) => {
    const jwt = await new SignJWT({
      iss: NAME,
      sub: 'robot',
      aud: 'https://id.example',
      exp: now().getTime() / 1000 + 60,
    })
      .setProtectedHeader({ alg: 'ES256', kid: key.kid })
      .sign(key.privateKey)
    const verified = await verifyFederatedToken({ jwt, type: 'jwt-bearer' }, replica.trustedIssuers(), now())
    if (verified.kind === 'refused' && verified.mayHaveNewKey !== undefined) refresher.want(verified.mayHaveNewKey)
    return verified.kind === 'verified' ? 'verified' : verified.reason
  }
  return { replica, refresher, log, verify, stop }
}

/** A replica on a standby, and how often it has read and tried to write. */
async function startRegionalReplica() {
  const calls = { find: 0, update: 0 }
  const replica = await startReplica(
    ({ find, update }) => ({
      find: (issuerId) => {
        calls.find += 1
        return find(issuerId)
      },
      update: (...change) => {
        calls.update += 1
        return update(...change)
      },
    }),
    true,
  )
  return { ...replica, calls }
}

type TestReplica = Awaited<ReturnType<typeof startReplica>>

/** Lets time pass, second by second, until something is true. What replicas begin in a second ends in it. */
async function passTimeUntil(replicas: readonly TestReplica[], isTrue: () => void | Promise<void>): Promise<void> {
  await eventually(async () => {
    await passSecond(replicas)
    await isTrue()
  })
}

async function passSecond(replicas: readonly TestReplica[]): Promise<void> {
  clock.advance(SECOND)
  for (const { refresher } of replicas) await refresher.settled()
}

/** Lets replicas look once, and ends what they begin. */
async function look(...replicas: readonly TestReplica[]): Promise<void> {
  const refresh = () => Promise.all(replicas.map(({ replica }) => eventually(() => replica.refresh())))
  await refresh()
  await passSecond(replicas)
  await refresh()
}

const fetches = () => issuer.count('/jwks')
const version = async () => (await createInstanceReader(database, TEST_MACS).status()).version
const fetchOf = ({ replica }: TestReplica) => {
  const { keys } = replica.trustedIssuers()[0] as TrustedIssuer
  if (keys.kind === 'given') throw new Error('its keys are given')
  return keys.fetch
}

describe('fetching keys in the background', () => {
  const key = newIssuerKey('first')

  it('is done once for all replicas, and again when it is due, which is no change of the instance', async () => {
    publish(key)
    const [one, other] = [await startReplica(), await startReplica()]
    await trust()
    await look(one, other)
    expect(await one.verify(key)).toBe('verified')
    expect(await other.verify(key)).toBe('verified')
    expect(fetches()).toBe(1)
    const before = await version()

    clock.advance(3 * MINUTE)
    await look(one, other)
    expect(fetches()).toBe(1)
    clock.advance(2 * MINUTE)
    await look(one, other)
    expect(fetches()).toBe(2)
    expect(await version()).toBe(before)
    // The replica that did not fetch learns of it when the fetch would count as lost.
    await passTimeUntil([one, other], () => {
      for (const each of [one, other])
        expect(fetchOf(each).fetchedAt!.getTime()).toBeGreaterThan(START.getTime() + 5 * MINUTE)
    })
    expect(fetches()).toBe(2)
  })

  it.each([
    ['max-age=1', 60],
    ['max-age=600', 600],
    ['max-age=86400', 3600],
  ])('is due as a response with %s says, within bounds', async (control, seconds) => {
    issuer.answer('/jwks', json({ keys: [] }, { 'cache-control': control }))
    const replica = await startReplica()
    await trust()
    await look(replica)
    const { fetchedAt, nextFetchAt } = fetchOf(replica)
    const wait = (nextFetchAt.getTime() - fetchedAt!.getTime()) / SECOND
    expect(wait).toBeGreaterThanOrEqual(Math.max(60, 0.8 * seconds))
    expect(wait).toBeLessThanOrEqual(seconds)
  })

  it('is done for a key that is not known, once in 30 seconds on all replicas, however many JWTs name one', async () => {
    publish(key)
    const replicas = [await startReplica(), await startReplica()]
    await trust()
    await look(...replicas)
    const flood = async () => {
      for (let i = 0; i < 100; i += 1)
        for (const { verify } of replicas)
          expect(await verify(newIssuerKey(`invented-${i}`))).toContain('no key with this kid')
    }
    // For two minutes, in which no fetch is due anyway.
    for (let seconds = 0; seconds < 120; seconds += 12) {
      await flood()
      clock.advance(11 * SECOND)
      await look(...replicas)
    }
    expect(fetches()).toBe(4)
  })

  it('finds a key that the issuer has made before it was due, after the first JWT by it', async () => {
    publish(key)
    const [one, other] = [await startReplica(), await startReplica()]
    await trust()
    await look(one, other)
    const next = newIssuerKey('next')
    publish(key, next)
    clock.advance(MINUTE)
    expect(await one.verify(next)).toContain('no key with this kid')
    await look(one, other)
    for (const { verify } of [one, other])
      expect([await verify(key), await verify(next)]).toEqual(['verified', 'verified'])
    expect(fetches()).toBe(2)
  })

  it('is done for a JWT without kid that no key has signed, which more than ten keys are not tried for', async () => {
    const unnamed = () => {
      const { kid: _kid, ...jwk } = newIssuerKey('').jwk
      return jwk
    }
    const jwks = (count: number) => issuer.answer('/jwks', json({ keys: Array.from({ length: count }, unnamed) }))
    jwks(10)
    const replica = await startReplica()
    await trust()
    await look(replica)
    clock.advance(MINUTE)
    const stranger = { ...newIssuerKey(''), kid: undefined } as unknown as IssuerKeyPair
    expect(await replica.verify(stranger)).toBe('the signature is not by a key of the issuer')
    jwks(11)
    await look(replica)
    expect(fetches()).toBe(2)
    clock.advance(MINUTE)
    expect(await replica.verify(stranger)).toBe('too many keys of the issuer fit: the JWT must name one by kid')
    await look(replica)
    expect(fetches()).toBe(2)
  })

  it('is not done for a forged signature by a key that is known', async () => {
    publish(key)
    const replica = await startReplica()
    await trust()
    await look(replica)
    clock.advance(MINUTE)
    expect(await replica.verify({ ...newIssuerKey('x'), kid: 'first' })).toBe(
      'the signature is not by a key of the issuer',
    )
    await look(replica)
    expect(fetches()).toBe(1)
  })

  it('goes on with the last good keys while the issuer is away, for as long as its policy says, and with the same ones when it is back', async () => {
    publish(key)
    const [one, other] = [await startReplica(), await startReplica()]
    await trust({ maxStalenessSeconds: 3600 })
    await look(one, other)
    issuer.answer('/jwks', json({}, {}, 503))
    clock.advance(30 * MINUTE)
    await look(one, other)
    clock.advance(29 * MINUTE)
    for (const { verify } of [one, other]) expect(await verify(key)).toBe('verified')
    clock.advance(MINUTE)
    for (const { verify } of [one, other])
      expect(await verify(key)).toMatch(/^the keys of the issuer are too old: not used since 2026-11-23T09:00:01/)
    await look(one, other)
    expect(await one.verify(key)).toContain('answers with status 503')

    publish(key)
    clock.advance(5 * MINUTE)
    await look(one, other)
    // At once on both: what was refused and is not any more is a change of the instance.
    for (const { verify } of [one, other]) expect(await verify(key)).toBe('verified')
    const lines = [...one.log.lines, ...other.log.lines].filter(
      (line) => line.startsWith('warn') || line.includes('again'),
    )
    expect(lines.join('\n')).toMatch(/warn the keys of a trusted issuer could not be fetched .*answers with status 503/)
    expect(lines.join('\n')).toContain('info the keys of a trusted issuer can be fetched again')
  })

  it('waits longer after each failure, five minutes at most', async () => {
    issuer.answer('/jwks', json({}, {}, 503))
    const replica = await startReplica()
    await trust()
    const waits: number[] = []
    for (let failures = 0; failures < 8; failures += 1) {
      await look(replica)
      const { nextFetchAt, failure } = fetchOf(replica)
      waits.push((nextFetchAt.getTime() - failure!.at.getTime()) / SECOND)
      clock.advance(nextFetchAt.getTime() - now().getTime())
    }
    expect(fetches()).toBe(8)
    const longest = [10, 20, 40, 80, 160, 300, 300, 300]
    expect(waits.map((wait, i) => wait <= longest[i]! && wait >= 0.8 * longest[i]!)).toEqual(longest.map(() => true))
    expect(replica.refresher.status).toMatchObject({ fetches: { changed: 0, unchanged: 0, failed: 8 } })
  })

  it('is not needed by a replica that starts while the issuer is away: it uses what is stored', async () => {
    publish(key)
    const before = await startReplica()
    await trust()
    await look(before)
    await before.stop()
    issuer.answer('/jwks', json({}, {}, 503))
    clock.advance(10 * MINUTE)
    const started = await startReplica()
    expect(await started.verify(key)).toBe('verified')
    await look(started)
    expect(await started.verify(key)).toBe('verified')
    expect(fetches()).toBe(2)
  })

  it('is taken over from a replica that was stopped in the middle, after a minute', async () => {
    const { promise: asked, resolve: arrive } = Promise.withResolvers<{ closed: Promise<void> }>()
    issuer.answer('/jwks', (response) =>
      arrive({ closed: new Promise<void>((resolve) => response.once('close', resolve)) }),
    )
    const first = await startReplica()
    await trust()
    await first.replica.refresh()
    clock.advance(SECOND)
    const { closed } = await asked
    const second = await startReplica()
    await first.stop()
    // The connection to the issuer ends with it.
    await closed
    publish(key)
    for (let seconds = 0; seconds < 55; seconds += 1) await passSecond([second])
    expect(fetches()).toBe(1)
    await passTimeUntil([second], async () => expect(await second.verify(key)).toBe('verified'))
    expect(fetches()).toBe(2)
  })

  it.each(['is deleted', 'has another source'])('is aborted when the issuer %s', async (what) => {
    const { promise: asked, resolve: arrive } = Promise.withResolvers<{ closed: Promise<void> }>()
    issuer.answer('/jwks', (response) =>
      arrive({ closed: new Promise<void>((resolve) => response.once('close', resolve)) }),
    )
    const replica = await startReplica()
    const issuerId = await trust()
    await replica.replica.refresh()
    clock.advance(SECOND)
    const { closed } = await asked
    const keys = { kind: 'given', keys: [] } as const
    await createFederationStore(database, TEST_MACS).change(anEntry('change'), (issuers, { clock }) => ({
      next: what === 'is deleted' ? [] : editIssuer(issuers, issuerId, { edit: { keys }, clock }),
      result: null,
    }))
    await replica.replica.refresh()
    clock.advance(SECOND)
    await closed
    await replica.refresher.settled()
    expect(await database.db.selectFrom('issuer_keys').selectAll().execute()).toEqual([])
  })

  it('stores nothing of a fetch that counts as lost, whose keys may be older than those of the next one', async () => {
    const { promise: asked, resolve: arrive } = Promise.withResolvers<() => void>()
    issuer.answer('/jwks', (response) => arrive(() => json({ keys: [key.jwk] })(response, response.req)))
    const slow = await startReplica()
    await trust()
    await slow.replica.refresh()
    clock.advance(SECOND)
    const answerLate = await asked
    const next = newIssuerKey('next')
    publish(next)
    clock.advance(MINUTE)
    const second = await startReplica()
    await look(second)
    expect(await second.verify(next)).toBe('verified')
    answerLate()
    await slow.refresher.settled()
    for (const replica of [slow, second]) {
      await replica.replica.refresh()
      expect([await replica.verify(next), await replica.verify(key)]).toEqual([
        'verified',
        'the issuer has no key with this kid for this alg',
      ])
    }
  })

  it('needs the database, and the memory of a replica does not', async () => {
    publish(key)
    let isAway = false
    const replica = await startReplica((store) => ({
      find: async (issuerId) => {
        if (isAway) throw new Error('the connection is lost')
        return store.find(issuerId)
      },
      update: store.update,
    }))
    await trust()
    await look(replica)
    isAway = true
    clock.advance(10 * MINUTE)
    await look(replica)
    expect(await replica.verify(key)).toBe('verified')
    expect(fetches()).toBe(1)
    isAway = false
    await look(replica)
    expect(fetches()).toBe(2)
  })
})

describe('fetching keys in the background, on a standby', () => {
  const key = newIssuerKey('first')

  it('is left to the primary, whose fetches of the same keys are read in time to go on with them', async () => {
    publish(key)
    const [primary, regional] = [await startReplica(), await startRegionalReplica()]
    await trust({ maxStalenessSeconds: 3600 })
    await look(primary, regional)
    const before = await version()
    const expiresAt = fetchOf(regional).fetchedAt!.getTime() + 3600 * SECOND
    while (now().getTime() < expiresAt + 10 * MINUTE) {
      clock.advance(MINUTE)
      await look(primary)
      await look(regional)
      expect(await regional.verify(key)).toBe('verified')
    }
    expect(fetches()).toBeGreaterThan(10)
    expect(await version()).toBe(before)
    expect(regional.calls.update).toBe(0)
  })

  it('learns of a fetch that was under way when it read', async () => {
    const { promise: asked, resolve: arrive } = Promise.withResolvers<() => void>()
    publish(key)
    const [primary, regional] = [await startReplica(), await startRegionalReplica()]
    await trust()
    await look(primary, regional)
    issuer.answer('/jwks', (response) => arrive(() => json({ keys: [key.jwk] })(response, response.req)))
    clock.advance(5 * MINUTE)
    const answer = await asked
    // It may have read before the fetch was claimed, and reads once in ten seconds.
    await regional.refresher.settled()
    clock.advance(10 * SECOND)
    await regional.refresher.settled()
    expect(fetchOf(regional).lease).not.toBeNull()
    answer()
    await primary.refresher.settled()
    clock.advance(10 * SECOND)
    await regional.refresher.settled()
    expect(fetchOf(regional)).toEqual(fetchOf(primary))
  })

  it('is not read more than once in ten seconds while the primary fetches nothing, however many JWTs name other keys', async () => {
    publish(key)
    const [primary, regional] = [await startReplica(), await startRegionalReplica()]
    await trust()
    await look(primary, regional)
    await primary.stop()
    clock.advance(4 * MINUTE - 10 * SECOND)
    await look(regional)
    regional.calls.find = 0
    // Nothing is due yet, and a key that is not known is for the primary to fetch.
    expect(await regional.verify(newIssuerKey('invented'))).toContain('no key with this kid')
    await look(regional)
    expect(regional.calls.find).toBe(0)
    clock.advance(2 * MINUTE)
    for (let seconds = 0; seconds < 60; seconds += 1) {
      await regional.verify(newIssuerKey('invented'))
      clock.advance(SECOND)
      await regional.refresher.settled()
    }
    expect(regional.calls).toEqual({ find: expect.any(Number), update: 0 })
    expect(regional.calls.find).toBeGreaterThanOrEqual(6)
    expect(regional.calls.find).toBeLessThanOrEqual(7)
  })
})
