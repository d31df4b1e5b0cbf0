import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { sql } from 'kysely'
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { type Administration, administrationOf, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { formOf, type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'

const SERVICE_SCOPE = 'urn:service:iam:org:project:id:service:aud'

let instance: OAuthInstance
let replicas: Keyturn[]
let robot: Robot
beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ACTIVATION_GUARD: 'off' })
  replicas = [instance.keyturn, await instance.startReplica(), await instance.startReplica()]
  robot = await instance.addRobot()
})
afterAll(() => instance?.stop())

const administration = (): Promise<Administration> => administrationOf(instance.keyturn)
const kidOf = (token: string) => decodeProtectedHeader(token).kid

/** How each replica answers a call with this token: 403 means that it knows the caller, who has no role. */
function statuses(token: string): Promise<number[]> {
  return Promise.all(
    replicas.map(async ({ listenUrl }) => {
      const response = await fetch(`${listenUrl}/iam.webkey.v2.WebKeyService/ListWebKeys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      })
      await response.text()
      return response.status
    }),
  )
}

function publishedKeyIds(): Promise<(string | undefined)[][]> {
  return Promise.all(
    replicas.map(async ({ listenUrl }) => {
      const response = await fetch(`${listenUrl}/.well-known/openid-configuration/jwks`)
      return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
    }),
  )
}

async function activeKeyId({ keys }: Administration): Promise<string> {
  return (await keys.listWebKeys({ states: [WebKeyState.ACTIVE] })).webKeys[0]!.keyId
}

/** Replicas that have not heard of the newest key yet refuse its tokens. */
async function trustedToken(): Promise<string> {
  const token = await instance.accessToken(robot, SERVICE_SCOPE)
  await eventually(async () => expect(await statuses(token)).toEqual([403, 403, 403]))
  return token
}

/** The id of an initial key that was revoked. */
async function revokedKey({ keys }: Administration): Promise<string> {
  const { webKey } = await keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
  await keys.revokeWebKey({ keyId: webKey!.keyId })
  return webKey!.keyId
}

async function expectRevoked(keyId: string, token: string): Promise<void> {
  // The replica that was asked has done it when it answers.
  expect((await statuses(token))[0]).toBe(401)
  expect((await publishedKeyIds())[0]).not.toContain(keyId)
  await eventually(async () => expect(await statuses(token)).toEqual([401, 401, 401]))
  await eventually(async () => expect((await publishedKeyIds()).flat()).not.toContain(keyId))
}

describe('revoking a key', () => {
  it('that is active lets the standby take over in the same step, and all replicas refuse its tokens', async () => {
    const admin = await administration()
    const leaked = await activeKeyId(admin)
    const { webKey: standby } = await admin.keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    const token = await trustedToken()
    expect(kidOf(token)).toBe(leaked)

    const revoked = await admin.keys.revokeWebKey({ keyId: leaked })
    expect(revoked).toMatchObject({
      webKey: { keyId: leaked, state: WebKeyState.REVOKED, hasPrivateKey: false },
      activeWebKey: { keyId: standby!.keyId, state: WebKeyState.ACTIVE },
    })
    // The cache time of the key set.
    const { revocationDate } = revoked.webKey!
    expect(Number(revoked.trustedUntil!.seconds - revocationDate!.seconds)).toBe(300)
    expect(revoked.activeWebKey!.activationDate).toEqual(revocationDate)
    expect(kidOf(await instance.accessToken(robot, SERVICE_SCOPE))).toBe(standby!.keyId)
    await expectRevoked(leaked, token)
  })

  it('that is active is done with a new key if there is no other', async () => {
    const admin = await administration()
    const before = await admin.keys.listWebKeys({ states: [WebKeyState.INITIAL] })
    expect(before.webKeys).toEqual([])
    const leaked = await activeKeyId(admin)
    const token = await trustedToken()
    const { activeWebKey } = await admin.keys.revokeWebKey({ keyId: leaked })
    // Of the kind that the policy says, which is not the kind of the key that leaked.
    expect(activeWebKey).toMatchObject({ algorithm: 'RS256', state: WebKeyState.ACTIVE })
    expect(activeWebKey!.keyId).not.toBe(leaked)
    expect(kidOf(await instance.accessToken(robot, SERVICE_SCOPE))).toBe(activeWebKey!.keyId)
    await expectRevoked(leaked, token)
  })

  it('that is revoked gives the answer again, and changes nothing', async () => {
    const { keys, audit } = await administration()
    const keyId = await revokedKey(await administration())
    // Refusals of others, by every replica, may still be on their way into the audit trail.
    const actor = (await instance.keyturn.admin()).client_id.split('@')[0]!
    const everything = async () => ({
      published: await keys.listWebKeys({}),
      revoked: await keys.listWebKeys({ states: [WebKeyState.REVOKED] }),
      events: (await audit.listAuditEvents({ actor, pageSize: 1000 })).events.length,
    })
    const before = await everything()
    const { webKey, trustedUntil } = await keys.revokeWebKey({ keyId })
    expect(before.revoked.webKeys).toContainEqual(webKey)
    expect(Number(trustedUntil!.seconds - webKey!.revocationDate!.seconds)).toBe(300)
    expect(await everything()).toEqual(before)
  })

  it('cannot be undone, and leaves no private key in the database', async () => {
    const admin = await administration()
    const keyId = await revokedKey(admin)
    for (const call of [admin.keys.activateWebKey({ keyId }), admin.keys.deleteWebKey({ keyId })]) {
      expect(await refusalOf(call)).toMatchObject({ code: 'NotFound', reason: 'WEB_KEY_NOT_FOUND' })
    }
    const { rows } = await sql<{ row: string }>`
      select to_jsonb(r)::text as row from revoked_web_keys r where key_id = ${keyId}`.execute(instance.database.db)
    expect(rows).toHaveLength(1)
    // A compact JWE begins with its header, and a text of the row with a quote.
    expect(rows.filter(({ row }) => row.includes('"eyJ'))).toEqual([])
  })
})

describe('a token request whose form comes after its key has gone', () => {
  /** Sends the head, and returns what sends the form, once the server has read the head. */
  async function begin() {
    const url = `${instance.keyturn.listenUrl}/oauth/v2/token`
    const headers = { 'content-type': 'application/x-www-form-urlencoded', expect: '100-continue' }
    const outgoing = request(url, { method: 'POST', headers })
    outgoing.flushHeaders()
    await once(outgoing, 'continue')
    return async () => {
      outgoing.end(String(new URLSearchParams(formOf(robot))))
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
      return { response, body: (await json(response)) as { access_token?: string; error?: string } }
    }
  }

  it('gets no token by a key that was revoked', async () => {
    const admin = await administration()
    const revoked = await activeKeyId(admin)
    const finish = await begin()
    await admin.keys.revokeWebKey({ keyId: revoked })
    const { response, body } = await finish()
    expect(response.statusCode).toBe(200)
    expect(kidOf(body.access_token!)).not.toBe(revoked)
    // The revoked key has signed the token of the administrator too.
    expect(kidOf(body.access_token!)).toBe(await activeKeyId(await administration()))
  })

  it('gets a token by the key that is active when it is there', async () => {
    const admin = await administration()
    const { webKey: next } = await admin.keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    const finish = await begin()
    await admin.keys.activateWebKey({ keyId: next!.keyId })
    const { body } = await finish()
    expect(kidOf(body.access_token!)).toBe(next!.keyId)
  })
})
