import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  basicCredentials,
  formOf,
  type OAuthInstance,
  type Robot,
  refusal,
  seen,
  startOAuthInstance,
} from '../support/oauth-instance.ts'
import type { Seeds } from '../support/seed.ts'

const YESTERDAY = new Date(Date.now() - 86_400_000)
const WRONG_SECRET = 'not the secret'
const JWT_BEARER = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' }

let instance: OAuthInstance
let robot: Robot

beforeAll(async () => {
  instance = await startOAuthInstance()
  const project = await instance.seed.project({ name: 'billing' })
  robot = await instance.addRobot({ project })
})

afterAll(() => instance?.stop())

describe('a client whose credentials are not good [Spec §7]', () => {
  const secretOf = async (user: Robot, dates: Parameters<Seeds['secret']>[1]) => {
    const { secret } = await instance.seed.secret(user.userId, dates)
    return { ...user, clientSecret: secret }
  }
  const withClientId = (clientId: string) => async () => ({ ...robot, clientId })

  const cases: [string, () => Promise<Robot>][] = [
    ['a wrong secret', async () => ({ ...robot, clientSecret: WRONG_SECRET })],
    ['a very long secret', async () => ({ ...robot, clientSecret: 'x'.repeat(5_000) })],
    ['an expired secret', async () => secretOf(await instance.addRobot(), { expiresAt: YESTERDAY })],
    ['a deactivated secret', async () => secretOf(await instance.addRobot(), { deactivatedAt: YESTERDAY })],
    ['the right secret of a disabled user', () => instance.addRobot({ enabled: false })],
    ['an unknown user', withClientId('5a5c4be5-0d57-4b2c-9d8e-0e4b1f1f9a11@billing')],
    ['a user id without a project', async () => ({ ...robot, clientId: robot.userId })],
    ['a client ID that is a property of every object', withClientId('__proto__')],
    ['a very long client ID', withClientId(`${'5'.repeat(5_000)}@billing`)],
  ]

  it.each(cases)(
    'is told invalid_client and challenged, in the form and in HTTP Basic: %s [RFC 6749 §5.2]',
    async (_, make) => {
      const user = await make()
      const headers = { authorization: basicCredentials(user.clientId, user.clientSecret) }
      const inHeader = await instance.postForm({ grant_type: 'client_credentials' }, headers)
      for (const response of [await instance.requestToken(user), inHeader]) {
        expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="/)
        const answer = await seen(response)
        expect(answer).toEqual(refusal(401, 'invalid_client'))
        expect(answer.body).toEqual({ error: 'invalid_client', error_description: 'client authentication failed' })
      }
    },
  )

  describe.each(['/oauth/v2/token', '/oauth/v2/introspect', '/oauth/v2/revoke'])('at %s', (path) => {
    const post = (headers: Record<string, string> = {}, form: Record<string, string> = {}) =>
      instance.fetch(path, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials', token: 'x', ...form }),
        headers,
      })

    it.each<[string, Record<string, string>, Record<string, string>]>([
      ['no credential at all', {}, {}],
      ['the scheme Digest', { authorization: 'Digest username="x"' }, {}],
      ['Basic that is no base64', { authorization: 'Basic !' }, {}],
      ['an assertion that is no JWT', {}, { ...JWT_BEARER, client_assertion: 'abc' }],
    ])('is told invalid_client, and challenged, with %s [RFC 6749 §5.2, RFC 7523 §3.2]', async (_, headers, form) => {
      const response = await post(headers, form)
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="[^"]+", error="invalid_client"/)
      expect(await seen(response)).toEqual(refusal(401, 'invalid_client'))
    })
  })

  it('is not told whether its scope, its grant or its project would have been right', async () => {
    const withoutGrant = await instance.addRobot({ clientCredentialsEnabled: false })
    const answers = [
      await instance.requestToken({ ...withoutGrant, clientSecret: WRONG_SECRET }),
      await instance.requestToken({ ...robot, clientId: `${robot.userId}@shipping`, clientSecret: WRONG_SECRET }),
      await instance.requestToken({ ...robot, clientSecret: WRONG_SECRET }, 'no-such-scope'),
      await instance.postForm({ ...formOf(robot), client_secret: WRONG_SECRET, grant_type: 'password' }),
      await instance.postForm({ ...formOf(robot), client_secret: WRONG_SECRET, resource: 'urn:elsewhere' }),
    ]
    for (const answer of answers) expect(await seen(answer)).toEqual(refusal(401, 'invalid_client'))
  })
})

describe('a client that has proved its secret [Spec §7]', () => {
  it('is told unauthorized_client when the grant is not enabled for it [Spec §5]', async () => {
    const user = await instance.addRobot({ clientCredentialsEnabled: false })
    expect(await seen(await instance.requestToken(user))).toEqual(refusal(400, 'unauthorized_client'))
  })

  it.each(['keyturn', 'no-such-project'])(
    'is told unauthorized_client when it names the project %s, which is not its own',
    async (project) => {
      const user = { ...robot, clientId: `${robot.userId}@${project}` }
      expect(await seen(await instance.requestToken(user))).toEqual(refusal(400, 'unauthorized_client'))
    },
  )

  it.each([
    'password',
    'urn:ietf:params:oauth:grant-type:token-exchange',
    'CLIENT_CREDENTIALS',
    'constructor',
    '__proto__',
    'client_credentials\u0000',
  ])('is told unsupported_grant_type for the grant_type %j [Spec §4.1]', async (grant_type) => {
    const answer = await seen(await instance.postForm({ ...formOf(robot), grant_type, code: 'x', refresh_token: 'x' }))
    expect(answer).toEqual(refusal(400, 'unsupported_grant_type'))
  })
})
