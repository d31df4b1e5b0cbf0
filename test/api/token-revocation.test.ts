/**
 * The end of access tokens before they expire: of one (RFC 7009), revoked with openid-client, and of all that a user has got.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { createVerifier } from '../../packages/verify/src/index.ts'
import { type Administration, administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'

const SERVICE_AUDIENCE = 'urn:service:iam:org:project:id:service:aud'

let instance: OAuthInstance
let replica: Keyturn
let admin: Administration
/** Introspects any token. */
let viewer: Robot

beforeAll(async () => {
  instance = await startOAuthInstance()
  replica = await instance.startReplica()
  admin = await administrationOf(instance.keyturn)
  viewer = await instance.addRobot({ instanceRoles: ['IAM_OWNER_VIEWER'] })
})

afterAll(() => instance?.stop())

const credentialsOf = ({ clientId, clientSecret }: Robot) => ({ client_id: clientId, client_secret: clientSecret })

function post(path: string, form: Record<string, string>, at = instance.keyturn): Promise<Response> {
  return fetch(at.listenUrl + path, { method: 'POST', body: new URLSearchParams(form) })
}

const revoke = (robot: Robot, token: string) => post('/oauth/v2/revoke', { ...credentialsOf(robot), token })

/** What a replica says about a token: how its API answers a call of a user without roles, and whether it is active. */
async function judged(token: string, at = instance.keyturn) {
  const call = await fetch(`${at.listenUrl}/iam.webkey.v2.WebKeyService/ListWebKeys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
  const answer = await post('/oauth/v2/introspect', { ...credentialsOf(viewer), token }, at)
  const { active } = (await answer.json()) as { active: boolean }
  await call.text()
  return { call: call.status, active }
}

const GOOD = { call: 403, active: true }
const REVOKED = { call: 401, active: false }

describe('the revocation endpoint [RFC 7009 §2]', () => {
  it('revokes a token of the client, on every replica, and no other, with openid-client', async () => {
    const { baseUrl } = instance.keyturn
    const robot = await instance.addRobot()
    const [token, other] = [
      await instance.accessToken(robot, SERVICE_AUDIENCE),
      await instance.accessToken(robot, SERVICE_AUDIENCE),
    ]
    expect([await judged(token), await judged(token, replica)]).toEqual([GOOD, GOOD])
    const config = await client.discovery(new URL(baseUrl), robot.clientId, robot.clientSecret, undefined, {
      execute: [client.allowInsecureRequests],
    })
    await client.tokenRevocation(config, token)
    expect(await judged(token)).toEqual(REVOKED)
    await eventually(async () => expect(await judged(token, replica)).toEqual(REVOKED))
    expect([await judged(other), await judged(other, replica)]).toEqual([GOOD, GOOD])
  })

  it('does not reach verifiers that do not ask', async () => {
    const robot = await instance.addRobot()
    const token = await instance.accessToken(robot)
    expect((await revoke(robot, token)).status).toBe(200)
    const verifier = createVerifier({ issuer: instance.keyturn.baseUrl, audience: robot.project.projectId })
    expect(await verifier.verify(token)).toMatchObject({ subject: robot.userId })
  })

  it('answers 200 about a token that is revoked already, is not valid, or is none [RFC 7009 §2.2]', async () => {
    const robot = await instance.addRobot()
    const token = await instance.accessToken(robot)
    const events = async () =>
      (await admin.audit.listAuditEvents({ resource: `users/${robot.userId}` })).events.map(
        ({ actor, action, resource }) => ({ actor, action, resource }),
      )
    for (const text of [token, token, `${token}x`, 'unknown', 'ktn_cs_unknown']) {
      const response = await revoke(robot, text)
      expect([response.status, await response.text()]).toEqual([200, '{}'])
    }
    const { jti } = decodeJwt(token)
    expect(await events()).toEqual([
      { actor: robot.userId, action: 'oauth/revoke', resource: `users/${robot.userId}/access_tokens/${jti}` },
    ])
  })

  it('refuses a personal access token, which it does not revoke, and says what does [RFC 7009 §2.2.1]', async () => {
    const robot = await instance.addRobot()
    const { userId } = robot
    const expirationDate = { seconds: BigInt(Math.floor(Date.now() / 1000) + 3600), nanos: 0 }
    const { token } = await admin.users.createPersonalAccessToken({ userId, expirationDate })
    for (const text of [token, 'ktn_pat_unknown']) {
      const response = await revoke(robot, text)
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: 'unsupported_token_type', error_description: expect.stringContaining('RevokePersonalAccessToken') },
      ])
    }
    const stranger = await post('/oauth/v2/revoke', { ...credentialsOf(robot), client_secret: 'wrong', token })
    expect(await seen(stranger)).toEqual(refusal(401, 'invalid_client'))
    expect((await judged(token)).call).toBe(GOOD.call)
  })

  it('does not revoke a token of another client, also for an owner, and answers as about a forged one [RFC 7009 §2.1]', async () => {
    const robot = await instance.addRobot()
    const owner = await instance.addRobot({ instanceRoles: ['IAM_OWNER'] })
    const token = await instance.accessToken(robot, SERVICE_AUDIENCE)
    const response = await revoke(owner, token)
    expect([response.status, await response.json()]).toEqual([200, {}])
    expect(await judged(token)).toEqual(GOOD)
  })

  it('refuses a client whose secret ended while its request was under way, as the database has it', async () => {
    const robot = await instance.addRobot()
    const token = await instance.accessToken(robot, SERVICE_AUDIENCE)
    expect(await judged(token)).toEqual(GOOD)
    // Without a new version, so that the replica still has the secret in memory.
    await instance.database.db
      .updateTable('credentials')
      .set({ deactivation_date: new Date() })
      .where('user_id', '=', robot.userId)
      .execute()
    expect(await seen(await revoke(robot, token))).toEqual(refusal(401, 'invalid_client'))
    expect(await judged(token)).toEqual(GOOD)
  })

  it('keeps a hundred revoked tokens of a user at a time, and drops those that have expired', async () => {
    const robot = await instance.addRobot()
    const token = await instance.accessToken(robot, SERVICE_AUDIENCE)
    const rows = (expiresAt: Date, count: number) =>
      Array.from({ length: count }, (_, i) => ({
        user_id: robot.userId,
        token_id: `${expiresAt.getTime()}-${i}`,
        expiration_date: expiresAt,
      }))
    const tomorrow = new Date(Date.now() + 86_400_000)
    const stored = () =>
      instance.database.db.selectFrom('revoked_tokens').selectAll().where('user_id', '=', robot.userId)
    await instance.database.db.insertInto('revoked_tokens').values(rows(tomorrow, 100)).execute()
    const full = await revoke(robot, token)
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await full.json()).toMatchObject({ error: 'temporarily_unavailable' })

    await instance.database.db.deleteFrom('revoked_tokens').where('user_id', '=', robot.userId).execute()
    await instance.database.db.insertInto('revoked_tokens').values(rows(tomorrow, 99)).execute()
    await instance.database.db
      .insertInto('revoked_tokens')
      .values(rows(new Date(Date.now() - 60_000), 50))
      .execute()
    expect((await revoke(robot, token)).status).toBe(200)
    expect(await judged(token)).toEqual(REVOKED)
    expect(await stored().execute()).toHaveLength(100)
  })
})

describe('RevokeTokens', () => {
  it('revokes all access tokens that the user has got, on every replica, and no personal access tokens', async () => {
    const robot = await instance.addRobot()
    const tokens = [
      await instance.accessToken(robot, SERVICE_AUDIENCE),
      await instance.accessToken(robot, `openid ${SERVICE_AUDIENCE}`),
    ]
    const { userId } = robot
    const expirationDate = { seconds: BigInt(Math.floor(Date.now() / 1000) + 3600), nanos: 0 }
    const { token: personal } = await admin.users.createPersonalAccessToken({ userId, expirationDate })
    await admin.users.revokeTokens({ userId })
    for (const token of tokens) {
      expect(await judged(token)).toEqual(REVOKED)
      await eventually(async () => expect(await judged(token, replica)).toEqual(REVOKED))
    }
    expect(await judged(personal)).toEqual({ call: 403, active: false })
  })
})

describe('introspection by an administrator', () => {
  const reasonOf = async (token: string) => {
    const { active, reason } = await admin.users.introspectToken({ token })
    expect(active).toBe(reason === '')
    return reason
  }

  it('says why a token is not active: revoked, of a disabled user, or none of this instance', async () => {
    const robot = await instance.addRobot()
    const [token, other] = [await instance.accessToken(robot, 'openid'), await instance.accessToken(robot, 'openid')]
    expect(await reasonOf(token)).toBe('')
    await revoke(robot, token)
    expect(await reasonOf(token)).toBe('the access token has been revoked: get a new one')
    expect(await reasonOf(other)).toBe('')
    await admin.users.disableServiceUser({ userId: robot.userId })
    expect(await reasonOf(other)).toBe('the service user of the access token is disabled or has been deleted')
    expect(await reasonOf(`${other.slice(0, -4)}AAAA`)).toBe('the access token is not valid')
  })
})
