/**
 * Keys rotate by themselves every few seconds under load, while replicas are killed and one key leaks.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { eventually } from '../support/eventually.ts'
import { Administrator, anyOf } from './administrator.ts'
import { startDatabaseWatch } from './database-watch.ts'
import { createHttpClient, type Send } from './http-client.ts'
import { Ledger } from './ledger.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replica, type Replicas, startReplicas } from './replicas.ts'
import { createProject, createServiceUser, generateSecret } from './service-users.ts'
import { startTokenLoad } from './token-load.ts'
import { askForToken, type TokenClient } from './token-request.ts'
import { publishedKeyIds, Verifier } from './verifier.ts'

const SERVICE = 'iam.webkey.v2.WebKeyService'
const API_SCOPE = 'urn:service:iam:org:project:id:service:aud'
/** What the rotation must have done by itself under load. */
const LEAST_STEPS = {
  'rotation/activate ok': 3,
  'rotation/create ok': 4,
  'rotation/destroy ok': 2,
  'rotation/delete ok': 2,
}
/** Between one thing that is done to them and the next. */
const PAUSE_MILLIS = 6_000
/** A verifier whose copy of the key set is a second old, from a replica that heard a second late, knows such a key. */
const KNOWN_AFTER_SECONDS = 2.6
const ROTATES_AFTER_SECONDS = 6

const POLICY = {
  enabled: true,
  config: { ecdsa: { curve: 'ECDSA_CURVE_P256' } },
  rotationInterval: `${ROTATES_AFTER_SECONDS}s`,
  publishAhead: '5s',
  retention: '4s',
  rollbackWindow: '2s',
  keepStandby: true,
}

let server: PostgresServer | undefined
let replicas: Replicas | undefined
let client: ReturnType<typeof createHttpClient> | undefined

beforeEach(async () => {
  server = await createPostgresServer()
  client = createHttpClient()
})
afterEach(async () => {
  client?.close()
  await replicas?.kill()
  await server?.destroy()
})

it('rotates keys by itself under load without one failed verification, and refuses a leaked key at once', async () => {
  const [database, { send }] = [server!, client!]
  // A replica that goes on for long without the database needs longer times than these.
  replicas = await startReplicas({ databaseUrl: database.url(), env: { KEYTURN_MAX_STALENESS: '2' } })
  const { all } = replicas
  const ledger = new Ledger()
  const newAdministrator = () => new Administrator({ replicas: replicas!, administered: all, send, ledger })
  const administrator = newAdministrator()
  const userId = await createServiceUser(administrator, await createProject(administrator, 'robots'), 'gets tokens')
  const robot = await generateSecret(administrator, userId)
  const updateMask = Object.keys(POLICY).join(',')
  await administrator.must(`${SERVICE}/UpdateRotationPolicy`, { policy: POLICY, updateMask })

  const verifier = new Verifier({ replicas, send, ledger })
  const stopLoad = startTokenLoad(all, async (replica) => {
    const askedAt = Date.now()
    const result = await askForToken(send, replica, robot)
    if (result.kind === 'issued') verifier.verify(result.token, replica, askedAt)
    else if (result.kind === 'rejected') ledger.wrong(`replica ${replica.name} says that a good secret is wrong`)
    if (result.kind === 'issued') ledger.tokens += 1
    return result.kind === 'issued'
  })
  const watch = startDatabaseWatch(() => database.url(), ledger)
  try {
    for (let kills = 0; kills < 2; kills += 1) {
      await delay(PAUSE_MILLIS)
      await killOne(all)
    }
    const { leaked, standby, token } = await eventually(async () => {
      const keys = await activeKeyAndStandby(database)
      const token = await tokenOf(send, all, { ...robot, scope: API_SCOPE })
      // A replica that has not heard of the last rotation signs with another one still.
      expect(decodeProtectedHeader(token).kid).toBe(keys.leaked)
      return { ...keys, token }
    })
    // From now on its tokens need not verify any more.
    verifier.revoked.add(leaked)
    const { activeWebKey } = await newAdministrator().must<{ activeWebKey: { keyId: string } }>(
      `${SERVICE}/RevokeWebKey`,
      { keyId: leaked },
    )
    expect(activeWebKey.keyId).toBe(standby)
    await expectRefused(send, all, token)
    for (const replica of all) {
      await eventually(async () => expect(await publishedKeyIds(send, replica)).not.toContain(leaked))
    }
    await delay(PAUSE_MILLIS)
    await killOne(all)
    await eventually(async () => {
      const steps = await stepsOf(database)
      for (const [step, least] of Object.entries(LEAST_STEPS)) expect(steps[step]).toBeGreaterThanOrEqual(least)
    })
  } finally {
    await stopLoad()
    await watch.stop()
  }
  await verifier.drain()

  const made = await stepsOf(database)
  expect(ledger.wrongs).toEqual([])
  expect(ledger.tokens).toBeGreaterThan(0)
  expect(verifier.verifications).toBeGreaterThan(ledger.tokens)
  expect(watch.looks()).toBeGreaterThan(20)
  expect(Object.keys(made).filter((event) => !event.endsWith(' ok'))).toEqual([])
  expect(all.flatMap(({ unexpectedExits }) => unexpectedExits)).toEqual([])
  expect(await Promise.all(all.map((replica) => replica.stop()))).toEqual([0, 0, 0])
})

/** What the system has done by itself, and how it came out, with how often. */
async function stepsOf(database: PostgresServer): Promise<Record<string, number>> {
  const events = await database.query<{ action: string; outcome: string; count: string }>(
    `select action, outcome, count(*) from audit_events where actor = 'system' group by 1, 2 order by 1, 2`,
  )
  return Object.fromEntries(events.map(({ action, outcome, count }) => [`${action} ${outcome}`, Number(count)]))
}

/** Kills a replica and starts it again. */
async function killOne(all: readonly Replica[]): Promise<void> {
  const victim = anyOf(all)
  await victim.kill()
  await victim.start()
}

/**
 * The key that signs, and the one that could take over without a verifier noticing.
 *
 * @throws {Error} if there is no such key now, or they are about to rotate.
 */
async function activeKeyAndStandby(database: PostgresServer): Promise<{ leaked: string; standby: string }> {
  const rows = await database.query<{ key_id: string; state: string; age: number }>(
    `select key_id, state, extract(epoch from now() - coalesce(activation_date, creation_date))::float8 as age
     from web_keys`,
  )
  const leaked = rows.find(({ state, age }) => state === 'active' && age < ROTATES_AFTER_SECONDS - 1)
  const standby = rows.find(({ state, age }) => state === 'initial' && age > KNOWN_AFTER_SECONDS)
  if (leaked === undefined || standby === undefined) throw new Error('no standby is known, or the time has come')
  return { leaked: leaked.key_id, standby: standby.key_id }
}

/** A token from any replica. @throws {Error} if there is none, for example because the replica has just been killed. */
async function tokenOf(send: Send, all: readonly Replica[], robot: TokenClient): Promise<string> {
  const result = await askForToken(send, anyOf(all), robot)
  if (result.kind !== 'issued') throw new Error('no token')
  return result.token
}

/** Waits until each replica refuses a token. A replica that is being started is waited for. */
async function expectRefused(send: Send, all: readonly Replica[], token: string): Promise<void> {
  const expiresAt = (decodeJwt(token).exp ?? 0) * 1000
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (const { url } of all) {
    await eventually(async () => {
      const { status } = await send(`${url}/${SERVICE}/ListWebKeys`, { method: 'POST', headers, body: '{}' })
      // The user has no role, so a token that is trusted still is answered with 403.
      expect(status).toBe(401)
    })
  }
  // Otherwise it may have been refused for its age.
  expect(Date.now()).toBeLessThan(expiresAt)
}
