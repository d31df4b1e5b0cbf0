import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import pg from 'pg'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import { generateMasterKey, parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { masterKeyOf } from '../../src/crypto/sealed-jwe.ts'
import { createKeySealer } from '../../src/crypto/sealed-key.ts'
import { parseKeyAlgorithm } from '../../src/domain/keys/key-algorithm.ts'
import { eventually } from '../support/eventually.ts'
import {
  collect,
  type Keyturn,
  removeFolder,
  runKeyturn,
  spawnKeyturn,
  startKeyturnInProcess,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

const [older, newer] = [generateMasterKey(), generateMasterKey()]
const idOf = (masterKey: string) => masterKey.split(':')[0]!
const REMOVAL = `The master key ${idOf(older)} seals nothing any more: remove it from every server.\n`

let postgres: TestPostgres
beforeAll(async () => {
  postgres = sharedPostgres()
})
const running = new Set<Keyturn>()
afterEach(async () => {
  for (const server of running) await stop(server)
})
afterAll(() => postgres?.stop())

/** One instance: a database and what the servers of it have in common. */
interface Instance {
  readonly url: string
  readonly admin: Awaited<ReturnType<Keyturn['admin']>>
  start(masterKeys: string): Promise<Keyturn>
  rotate(): ReturnType<typeof runKeyturn>
}

/** An instance of one key, set up by a server that has stopped again. */
async function setUp(): Promise<Instance> {
  const url = await postgres.createMigratedDatabase()
  const base = { KEYTURN_DATABASE_URL: url, KEYTURN_BASE_URL: 'http://localhost:1' }
  const start = async (masterKeys: string) => {
    const server = await startKeyturnInProcess({ env: { ...base, KEYTURN_MASTER_KEYS: masterKeys } })
    running.add(server)
    return server
  }
  const first = await start(older)
  const admin = await first.admin()
  await stop(first)
  return {
    url,
    admin,
    start,
    rotate: () => runKeyturn(['master-key', 'rotate'], { ...base, KEYTURN_MASTER_KEYS: `${newer},${older}` }),
  }
}

async function stop(server: Keyturn): Promise<void> {
  running.delete(server)
  await server.stop()
  await removeFolder(server.dataDir)
}

const tokenOf = (server: Keyturn, { admin }: Instance) =>
  requestToken({ ...admin, token_endpoint: `${server.listenUrl}/oauth/v2/token` })

const clientOf = async (server: Keyturn, instance: Instance) =>
  webKeyClient(server.listenUrl, await tokenOf(server, instance))

async function createKey(server: Keyturn, instance: Instance): Promise<string> {
  const client = await clientOf(server, instance)
  const { details } = await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
  return details!.keyId
}

interface Row {
  readonly key_id: string
  readonly algorithm: string
  readonly sealed_private_key: string
}

const rowsOf = ({ url }: Instance) =>
  postgres.query<Row>('select * from web_keys order by creation_date, key_id', [], url)

/** The ids of the master keys that seal, one per web key, after each private key was opened with these master keys. */
async function openAll(instance: Instance, masterKeys: string): Promise<(string | null)[]> {
  const sealer = createKeySealer(parseMasterKeys(masterKeys))
  const rows = await rowsOf(instance)
  for (const { key_id: keyId, algorithm, sealed_private_key } of rows) {
    await sealer.open(sealed_private_key, { keyId, algorithm: parseKeyAlgorithm(algorithm) })
  }
  return rows.map(({ sealed_private_key }) => masterKeyOf(sealed_private_key))
}

/** Gets tokens from a server, without a pause, and verifies each with the key set of that server. */
function startLoad(server: Keyturn, instance: Instance) {
  const failures: unknown[] = []
  let verified = 0
  let going = true
  const work = async () => {
    while (going) {
      try {
        const token = await tokenOf(server, instance)
        const keySet = await fetch(`${server.listenUrl}/.well-known/openid-configuration/jwks`)
        await jwtVerify(token, createLocalJWKSet((await keySet.json()) as JSONWebKeySet))
        verified += 1
      } catch (error) {
        failures.push(error)
      }
    }
  }
  const workers = [work(), work()]
  return {
    verified: () => verified,
    stop: async () => {
      going = false
      await Promise.all(workers)
      return failures
    },
  }
}

/** Makes new web keys active and deletes those before, until it is stopped. */
function startRotating(server: Keyturn, instance: Instance) {
  let going = true
  let rotations = 0
  const work = async () => {
    while (going) {
      // With a new token each time: the key that signed the one before is deleted soon.
      const client = await clientOf(server, instance)
      await client.activateWebKey({ keyId: await createKey(server, instance) })
      const { webKeys } = await client.listWebKeys({})
      const inactive = webKeys.filter(({ state }) => state === State.INACTIVE).map(({ keyId }) => keyId)
      // The ones that still verify what was issued a moment ago stay.
      for (const keyId of inactive.slice(0, -6)) await client.deleteWebKey({ keyId })
      rotations += 1
    }
  }
  const done = work()
  return {
    rotations: () => rotations,
    stop: async () => {
      going = false
      await done
    },
  }
}

describe('rotating the master key on PostgreSQL', () => {
  it('fails no token while two replicas serve and one rotates web keys, and makes the old key useless', async () => {
    const instance = await setUp()
    const stillOld = await instance.start(`${older},${newer}`)
    const rolled = await instance.start(`${newer},${older}`)
    for (let count = 0; count < 3; count += 1) await createKey(stillOld, instance)
    const loads = [startLoad(stillOld, instance), startLoad(rolled, instance)]
    const rotating = startRotating(rolled, instance)
    try {
      const outputs: string[] = []
      for (let round = 0; round < 3; round += 1) {
        const keyId = await createKey(stillOld, instance)
        const { code, stdout } = await instance.rotate()
        expect(code).toBe(0)
        outputs.push(stdout)
        const resealed = (await rowsOf(instance)).find(({ key_id }) => key_id === keyId)!
        expect(masterKeyOf(resealed.sealed_private_key)).toBe(idOf(newer))
      }
      expect(outputs[0]).toMatch(/^[56] of \d+ keys were sealed anew; all of them are sealed by /)
      for (const output of outputs) expect(output).toContain(REMOVAL)
      const [before, rotations] = [loads.map((load) => load.verified()), rotating.rotations()]
      await eventually(() => {
        for (const [i, load] of loads.entries()) expect(load.verified()).toBeGreaterThan(before[i]! + 20)
        expect(rotating.rotations()).toBeGreaterThan(rotations + 1)
      })
    } finally {
      await rotating.stop()
      expect(await Promise.all(loads.map((load) => load.stop()))).toEqual([[], []])
    }

    await stop(stillOld)
    expect(await instance.rotate()).toMatchObject({ code: 0, stdout: expect.stringContaining(REMOVAL), stderr: '' })
    await stop(rolled)
    expect(new Set(await openAll(instance, newer))).toEqual(new Set([idOf(newer)]))

    const after = await instance.start(newer)
    const load = startLoad(after, instance)
    await createKey(after, instance)
    await eventually(() => expect(load.verified()).toBeGreaterThan(0))
    expect(await load.stop()).toEqual([])
    const events = await postgres.query<{ actor: string; resource: string }>(
      "select actor, resource from audit_events where action = 'master_key/reseal'",
      [],
      instance.url,
    )
    expect(events.length).toBeGreaterThanOrEqual(6)
    for (const event of events)
      expect(event).toEqual({ actor: 'system', resource: expect.stringMatching(/^(web_keys\/.|integrity_key$)/) })
  })

  it('goes on where it was killed, and has lost nothing in between', async () => {
    const instance = await setUp()
    const server = await instance.start(`${newer},${older}`)
    const stillOld = await instance.start(older)
    for (let count = 0; count < 4; count += 1) await createKey(stillOld, instance)
    await stop(stillOld)
    const third = (await rowsOf(instance))[2]!
    await postgres.query(
      `create function hold() returns trigger language plpgsql as
         $$ begin perform pg_advisory_xact_lock(42); return new; end $$;
       create trigger hold before update of sealed_private_key on web_keys
         for each row when (old.key_id = '${third.key_id}') execute function hold()`,
      [],
      instance.url,
    )
    const holder = new pg.Client({ connectionString: instance.url })
    await holder.connect()
    try {
      await holder.query('select pg_advisory_lock(42)')
      const rotation = spawnKeyturn(['master-key', 'rotate'], {
        KEYTURN_DATABASE_URL: instance.url,
        KEYTURN_MASTER_KEYS: `${newer},${older}`,
      })
      const output = collect(rotation)
      const exited = once(rotation, 'exit')
      await eventually(async () => {
        const { rows } = await holder.query("select 1 from pg_locks where locktype = 'advisory' and not granted")
        expect({ waiting: rows.length, output }).toEqual({ waiting: 1, output: { stdout: '', stderr: '' } })
      })
      rotation.kill('SIGKILL')
      await exited
    } finally {
      await holder.end()
    }
    await eventually(async () =>
      expect(
        await postgres.query(
          "select 1 from pg_stat_activity where datname = current_database() and query ilike '%web_keys%' and pid <> pg_backend_pid() and state <> 'idle'",
          [],
          instance.url,
        ),
      ).toEqual([]),
    )
    const [left, done] = [idOf(older), idOf(newer)]
    expect(await openAll(instance, `${newer},${older}`)).toEqual([done, done, left, left, left])
    await tokenOf(server, instance)

    expect(await instance.rotate()).toEqual({
      code: 0,
      stdout: `3 of 6 keys were sealed anew; all of them are sealed by ${done} now.\n${REMOVAL}`,
      stderr: '',
    })
    expect(await openAll(instance, newer)).toEqual([done, done, done, done, done])
    await stop(server)
    await tokenOf(await instance.start(newer), instance)
  })

  it('lets a replica that could not open the active key serve again as soon as it can', async () => {
    const instance = await setUp()
    const stillOld = await instance.start(`${older},${newer}`)
    expect((await instance.rotate()).code).toBe(0)
    const rolled = await instance.start(newer)
    await (await clientOf(stillOld, instance)).activateWebKey({ keyId: await createKey(stillOld, instance) })
    const readiness = async () => (await fetch(`${rolled.listenUrl}/readyz`)).status
    await eventually(async () => expect(await readiness()).toBe(503))
    expect((await instance.rotate()).code).toBe(0)
    await eventually(async () => expect(await readiness()).toBe(200))
    await tokenOf(rolled, instance)
  })
})
