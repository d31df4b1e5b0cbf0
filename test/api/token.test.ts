import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as client from 'openid-client'
import {
  basicCredentials,
  type OAuthInstance,
  type Robot,
  seen,
  startOAuthInstance,
} from '../support/oauth-instance.ts'

const SERVICE_AUDIENCE = 'urn:service:iam:org:project:id:service:aud'
const HOUR = 3600

let instance: OAuthInstance
let robot: Robot

beforeAll(async () => {
  instance = await startOAuthInstance()
  robot = await instance.addRobot()
})

afterAll(() => instance?.stop())

describe.each([
  ['client_secret_post', client.ClientSecretPost],
  ['client_secret_basic', client.ClientSecretBasic],
])('openid-client with %s', (_, authentication) => {
  it.each(['oidc', 'oauth2'] as const)(
    'discovers the service (%s) and gets a token that jose verifies [Spec §4.1] [Spec §4.2]',
    async (algorithm) => {
      const { baseUrl } = instance.keyturn
      const configuration = await client.discovery(
        new URL(baseUrl),
        robot.clientId,
        undefined,
        authentication(robot.clientSecret),
        { algorithm, execute: [client.allowInsecureRequests] },
      )
      const tokens = await client.clientCredentialsGrant(configuration, { scope: `openid ${SERVICE_AUDIENCE}` })
      expect(tokens.token_type).toBe('bearer')
      expect(tokens.expiresIn()).toBeLessThanOrEqual(HOUR)

      const remote = createRemoteJWKSet(new URL(configuration.serverMetadata().jwks_uri!))
      const { payload } = await jwtVerify(tokens.access_token, remote, {
        issuer: baseUrl,
        audience: baseUrl,
        subject: robot.userId,
        typ: 'at+jwt',
      })
      expect(payload).toMatchObject({ client_id: robot.clientId, scope: `openid ${SERVICE_AUDIENCE}` })
    },
  )

  it('is told invalid_client when the secret is wrong [Spec §7]', async () => {
    const configuration = await client.discovery(
      new URL(instance.keyturn.baseUrl),
      robot.clientId,
      undefined,
      authentication('not the secret'),
      { execute: [client.allowInsecureRequests] },
    )
    await expect(client.clientCredentialsGrant(configuration)).rejects.toMatchObject({
      // The challenge is what the library reports, and the error in it.
      cause: [{ scheme: 'basic', parameters: { error: 'invalid_client' } }],
      status: 401,
    })
  })
})

describe('the token response', () => {
  it('has access_token, token_type Bearer, expires_in and the granted scope, and is not cached [Spec §2.1]', async () => {
    expect(await seen(await instance.requestToken(robot, 'openid'))).toEqual({
      status: 200,
      contentType: 'application/json; charset=utf-8',
      cacheControl: 'no-store',
      pragma: 'no-cache',
      body: {
        access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        token_type: 'Bearer',
        expires_in: HOUR,
        scope: 'openid',
      },
    })
  })
})

describe('the access token', () => {
  it('has a header of alg, the active key as kid, and typ at+jwt [RFC 9068 §2.1]', async () => {
    const { webKeys } = await instance.callWebKeys<{ webKeys: { keyId: string; state: string }[] }>('ListWebKeys')
    const active = webKeys.find(({ state }) => state === 'STATE_ACTIVE')
    const token = await instance.accessToken(robot)
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'RS256', kid: active?.keyId, typ: 'at+jwt' })
  })

  it('has the claims iss, sub, aud, client_id, iat, exp, jti and scope, and no others [RFC 9068 §2.2]', async () => {
    const before = Math.floor(Date.now() / 1000)
    const claims = decodeJwt(await instance.accessToken(robot, 'openid'))
    const after = Math.floor(Date.now() / 1000)

    expect(claims).toEqual({
      iss: instance.keyturn.baseUrl,
      sub: robot.userId,
      aud: [robot.project.projectId],
      client_id: robot.clientId,
      iat: expect.any(Number),
      exp: Number(claims.iat) + HOUR,
      jti: expect.stringMatching(/^0\.[\w-]{36}$/),
      scope: 'openid',
    })
    // The time of the instance goes by a monotonic clock, which may be a moment behind or ahead when a second begins.
    expect(claims.iat).toBeGreaterThanOrEqual(before - 1)
    expect(claims.iat).toBeLessThanOrEqual(after + 1)
  })
})

describe('a service user with several secrets', () => {
  const DAY = 86_400_000
  const inDays = (days: number) => new Date(Date.now() + days * DAY)

  it.each([
    [200, 'lives for ever', {}],
    [200, 'expires later', { expiresAt: inDays(1) }],
    [401, 'was deactivated by a clock that is ahead', { deactivatedAt: inDays(1) }],
    [401, 'has expired', { expiresAt: inDays(-1) }],
    [401, 'is deactivated', { deactivatedAt: inDays(-1) }],
    [401, 'is deactivated and expires later', { expiresAt: inDays(1), deactivatedAt: inDays(-1) }],
  ])('gets %i for one that %s, and tokens for the other [Spec §5] [Spec §7]', async (status, _, dates) => {
    const user = await instance.addRobot()
    const { secret } = await instance.seed.secret(user.userId, dates)

    const inForm = await instance.requestToken({ ...user, clientSecret: secret })
    const inHeader = await instance.postForm(
      { grant_type: 'client_credentials' },
      { authorization: basicCredentials(user.clientId, secret) },
    )
    expect([inForm.status, inHeader.status]).toEqual([status, status])
    expect((await instance.requestToken(user)).status).toBe(200)
  })
})
