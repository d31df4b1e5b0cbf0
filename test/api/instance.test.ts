import { hostname } from 'node:os'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { type Instance, ReplicaPresence } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { SETTINGS } from '../../src/config/settings.ts'
import { readVersion } from '../../src/config/version.ts'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf, administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const [old, next] = [generateMasterKey(), generateMasterKey()]
const idOf = (masterKey: string) => masterKey.split(':')[0]

let instance: OAuthInstance
let other: Keyturn
let admin: Administration
beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_MASTER_KEYS: old, KEYTURN_LOG_LEVEL: 'warn' })
  other = await instance.startReplica({ KEYTURN_MASTER_KEYS: `${next},${old}` })
  admin = await administrationOf(instance.keyturn)
})
afterAll(() => instance?.stop())

const get = async (server = instance.keyturn): Promise<Instance> =>
  (await administrationWith(server, admin.token).instance.getInstance({})).instance!

describe('GetInstance', () => {
  it('says which program answers, since when, and that it can serve', async () => {
    const { issuer, replica, currentDate } = await get()
    expect(Math.abs(timestampDate(currentDate!).getTime() - Date.now())).toBeLessThan(60_000)
    expect(issuer).toBe(instance.keyturn.baseUrl)
    expect(replica).toMatchObject({ keyturnVersion: readVersion(), ready: true, reason: '', warnings: [] })
    expect(timestampDate(replica!.startDate!).getTime()).toBeLessThanOrEqual(Date.now() + 1000)
    expect(Number(replica!.staleness!.seconds)).toBeLessThan(60)
  })

  it('lists every replica, as each replica answers about itself', async () => {
    const own = async (server: Keyturn) => (await get(server)).replica!
    const answering = await Promise.all([instance.keyturn, other].map(own))
    expect(new Set(answering.map(({ replicaId }) => replicaId)).size).toBe(2)
    for (const { lastSeenDate, presence, hostName } of answering) {
      expect([lastSeenDate, presence]).toEqual([undefined, ReplicaPresence.SEEN])
      expect(hostName).toBe(/^localhost(\.|$)/.test(hostname()) ? '' : hostname())
    }
    for (const server of [instance.keyturn, other]) {
      await eventually(async () => {
        const { replicas } = await get(server)
        expect(replicas.map(({ replicaId }) => replicaId)).toEqual(answering.map(({ replicaId }) => replicaId))
        expect(replicas).toMatchObject(
          answering.map(({ hostName, keyturnVersion, startDate }) => ({
            hostName,
            keyturnVersion,
            startDate,
            ready: true,
            reason: '',
            versionsBehind: 0n,
            presence: ReplicaPresence.SEEN,
          })),
        )
      })
    }
  })

  it('shows that a change has reached every replica', async () => {
    await admin.projects.createProject({ name: 'spread' })
    const { version } = await get()
    await eventually(async () => {
      const { replicas } = await get()
      expect(replicas.map((replica) => [replica.version, replica.versionsBehind])).toEqual([
        [version, 0n],
        [version, 0n],
      ])
    })
    // The first one made every change itself, or read it with its own; the other one has learned of it.
    const { replica } = await get(other)
    const { replicas } = await get()
    expect(replicas.find(({ replicaId }) => replicaId === replica!.replicaId)?.lag).toBeDefined()
  })

  it('takes a replica that stops from the list, and shows one that is lost as such', async () => {
    const third = await instance.startReplica({ KEYTURN_MASTER_KEYS: old })
    const { replicaId } = (await get(third)).replica!
    const listed = async () => (await get()).replicas.find((replica) => replica.replicaId === replicaId)
    await eventually(async () => expect(await listed()).toBeDefined())
    await third.stop()
    await eventually(async () => expect(await listed()).toBeUndefined())

    const { db } = instance.database
    const lost = async (interval: string) => {
      await sql`
        insert into replicas (replica_id, host_name, keyturn_version, start_date, last_seen_date, version, versions_behind, ready, reason)
        values (${replicaId}, 'lost', '1.2.3', clock_timestamp(), clock_timestamp() - ${interval}::interval, 1, 0, true, '')
        on conflict (replica_id) do update set last_seen_date = excluded.last_seen_date`.execute(db)
    }
    const { version } = await get()
    for (const [interval, presence] of [
      ['20 seconds', ReplicaPresence.OVERDUE],
      ['2 minutes', ReplicaPresence.GONE],
    ] as const) {
      await lost(interval)
      await eventually(async () =>
        expect(await listed()).toMatchObject({ hostName: 'lost', presence, versionsBehind: version - 1n }),
      )
    }
    await lost('2 hours')
    await eventually(async () => expect(await listed()).toBeUndefined())
  })

  it('names the master keys of the replica, which one seals, and how much each seals', async () => {
    const keys = async (server: Keyturn) =>
      (await get(server)).masterKeys.map(({ id, active, configured, sealedKeys }) => [
        id,
        active,
        configured,
        sealedKeys,
      ])
    // The private key of the first web key, and the integrity key.
    expect(await keys(instance.keyturn)).toEqual([[idOf(old), true, true, 2]])
    expect(await keys(other)).toEqual([
      [idOf(next), true, true, 0],
      [idOf(old), false, true, 2],
    ])
    await administrationWith(other, admin.token).keys.createWebKey({
      config: { config: { case: 'ed25519', value: {} } },
    })
    await admin.projects.createProject({ name: 'refreshed' })
    expect(await keys(instance.keyturn)).toEqual([
      [idOf(old), true, true, 2],
      [idOf(next), false, false, 1],
    ])
  })

  it('names every setting, and no secret', async () => {
    const { settings } = await get()
    expect(settings.map(({ name }) => name)).toEqual(SETTINGS.map(({ variable }) => variable))
    const values = Object.fromEntries(settings.map(({ name, value }) => [name, value]))
    expect(values).toMatchObject({
      KEYTURN_LOG_LEVEL: 'warn',
      KEYTURN_MASTER_KEYS: '(set)',
      KEYTURN_MASTER_KEYS_FILE: '',
    })
    const text = JSON.stringify(values)
    for (const secret of [old, old.split(':')[1]!]) expect(text).not.toContain(secret)
  })
})
