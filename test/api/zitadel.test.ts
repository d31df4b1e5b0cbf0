/**
 * The services for clients of ZITADEL over sockets. Its real clients are in `test/clients`.
 */
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { State } from '../../gen/zitadel/webkey/v2/key_pb.js'
import { WebKeyService } from '../../gen/zitadel/webkey/v2/webkey_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../gen/zitadel/webkey/v2beta/webkey_service_pb.js'
import { type Administration, administrationOf, refusalOf } from '../support/administration.ts'
import { checkHealth } from '../support/grpc-health.ts'
import { type Keyturn, requestToken } from '../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { clientOf, type TransportName } from '../support/web-key-client.ts'

const V2 = 'zitadel.webkey.v2.WebKeyService'
const V2BETA = 'zitadel.webkey.v2beta.WebKeyService'
const SCOPES = 'openid urn:zitadel:iam:org:project:id:zitadel:aud'
const ED25519 = { ed25519: {} }

let instance: OAuthInstance
/** Another replica, without the setting. */
let without: Keyturn
let admin: Administration
let token: string
beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ZITADEL_API: 'on' })
  without = await instance.startReplica({ KEYTURN_ZITADEL_API: 'off' })
  admin = await administrationOf(instance.keyturn)
  token = await requestToken(await instance.keyturn.admin(), SCOPES)
})
afterAll(() => instance?.stop())

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: JSON as a client sees it.
  readonly body: any
}

/** A request in JSON as the generated SDKs send it: without the header of the Connect protocol. */
async function send(
  method: string,
  path: string,
  { body, bearer = token, to = instance.keyturn }: { body?: unknown; bearer?: string | null; to?: Keyturn } = {},
): Promise<Answer> {
  const response = await fetch(to.listenUrl + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

const call = (method: string, body: unknown) => send('POST', `/${method}`, { body })

async function newKey(): Promise<string> {
  return (await call(`${V2}/CreateWebKey`, ED25519)).body.id
}

describe.each([
  ['v2', WebKeyService],
  ['v2beta', BetaWebKeyService],
] as const)('the web key service %s of ZITADEL', (_, service) => {
  it.each<TransportName>(['gRPC over h2c', 'Connect with JSON over HTTP/1.1'])(
    'creates, lists, activates and deletes keys over %s',
    async (transport) => {
      const bearer = await requestToken(await instance.keyturn.admin(), SCOPES)
      const client = clientOf(service as typeof WebKeyService, instance.keyturn.listenUrl, { token: bearer, transport })
      const find = async (wanted: string) => (await client.listWebKeys({})).webKeys.find(({ id }) => id === wanted)!

      const created = await client.createWebKey({ key: { case: 'ed25519', value: {} } })
      const initial = await find(created.id)
      expect(initial).toMatchObject({
        state: State.INITIAL,
        key: { case: 'ed25519' },
        creationDate: created.creationDate,
        changeDate: created.creationDate,
      })

      const before = (await client.listWebKeys({})).webKeys.find(({ state }) => state === State.ACTIVE)!
      const { changeDate } = await client.activateWebKey({ id: created.id })
      expect(await find(created.id)).toMatchObject({ state: State.ACTIVE, changeDate })
      expect(await find(before.id)).toMatchObject({ state: State.INACTIVE, changeDate })
      expect(await client.activateWebKey({ id: created.id })).toMatchObject({ changeDate })

      expect(await refusalOf(client.deleteWebKey({ id: created.id }))).toMatchObject({
        code: 'FailedPrecondition',
        reason: 'WEB_KEY_ACTIVE',
      })
      await client.activateWebKey({ id: before.id })
      const { deletionDate } = await client.deleteWebKey({ id: created.id })
      expect(timestampDate(deletionDate!).getTime()).toBeGreaterThan(timestampDate(changeDate!).getTime())
      expect(await find(created.id)).toBeUndefined()
    },
  )
})

describe('the kind of a key', () => {
  it.each([
    ['nothing', {}, { rsa: { bits: 'RSA_BITS_2048', hasher: 'RSA_HASHER_SHA256' } }],
    ['P-521, which is called P512', { ecdsa: { curve: 'ECDSA_CURVE_P512' } }, { ecdsa: { curve: 'ECDSA_CURVE_P512' } }],
  ])('is what was asked for, if that is %s', async (_, request, expected) => {
    const { body } = await call(`${V2BETA}/CreateWebKey`, request)
    const { webKeys } = (await call(`${V2BETA}/ListWebKeys`, {})).body
    expect(webKeys.find(({ id }: { id: string }) => id === body.id)).toEqual({
      id: body.id,
      creationDate: body.creationDate,
      changeDate: body.creationDate,
      state: 'STATE_INITIAL',
      ...expected,
    })
  })
})

describe('deleting a key', () => {
  it('takes an initial key, whose tokens cannot exist', async () => {
    const id = await newKey()
    expect(await call(`${V2}/DeleteWebKey`, { id })).toMatchObject({
      status: 200,
      body: { deletionDate: expect.stringMatching(/Z$/) },
    })
    expect(await refusalOf(admin.keys.getWebKey({ keyId: id }))).toMatchObject({ code: 'NotFound' })
  })

  it('of an initial key is still refused in the services of Keyturn [Spec §4.3 rule 4]', async () => {
    const refusal = await refusalOf(admin.webKeys.deleteWebKey({ keyId: await newKey() }))
    expect(refusal).toMatchObject({ code: 'FailedPrecondition', reason: 'WEB_KEY_NOT_INACTIVE' })
  })
})

describe('a caller', () => {
  it('without a token, or without the permission, is refused as everywhere', async () => {
    const viewer = await instance.addRobot({ instanceRoles: ['IAM_OWNER_VIEWER'] })
    const bearer = await instance.accessToken(viewer, SCOPES)
    expect(await send('POST', `/${V2}/ListWebKeys`, { body: {}, bearer })).toMatchObject({ status: 200 })
    expect(await send('POST', `/${V2}/CreateWebKey`, { body: ED25519, bearer })).toMatchObject({
      status: 403,
      body: { code: 'permission_denied' },
    })
    expect(await send('POST', `/${V2BETA}/DeleteWebKey`, { body: { id: 'x' }, bearer })).toMatchObject({ status: 403 })
    expect(await send('POST', `/${V2}/ListWebKeys`, { body: {}, bearer: null })).toMatchObject({
      status: 401,
      body: { code: 'unauthenticated' },
    })
  })
})

describe('the REST paths', () => {
  it('of v2beta have every method', async () => {
    const created = await send('POST', '/v2beta/web_keys', { body: ED25519 })
    expect(created).toMatchObject({ status: 200, body: { id: expect.any(String), creationDate: expect.any(String) } })
    const { id } = created.body
    const listed = await send('GET', '/v2beta/web_keys')
    expect(listed.body.webKeys).toContainEqual(expect.objectContaining({ id, state: 'STATE_INITIAL', ed25519: {} }))
    const { id: before } = listed.body.webKeys.find(({ state }: { state: string }) => state === 'STATE_ACTIVE')

    expect((await send('POST', `/v2beta/web_keys/${id}/activate`)).body).toEqual({ changeDate: expect.any(String) })
    expect((await send('POST', `/v2beta/web_keys/${before}/activate`, { body: {} })).status).toBe(200)
    expect((await send('DELETE', `/v2beta/web_keys/${id}`)).body).toEqual({ deletionDate: expect.any(String) })
  })

  it('have the errors of a gRPC gateway', async () => {
    expect(await send('POST', '/v2beta/web_keys/x/activate')).toMatchObject({
      status: 404,
      body: {
        code: 5,
        message: 'there is no web key "x"',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'WEB_KEY_NOT_FOUND', domain: 'keyturn' },
        ],
      },
    })
    expect(await send('POST', '/v2beta/web_keys', { body: { ecdsa: {} } })).toMatchObject({
      status: 400,
      body: { code: 3 },
    })
    expect(await send('DELETE', '/v2/web_keys/%ff')).toMatchObject({ status: 400, body: { code: 3 } })
    const anonymous = await send('GET', '/v2/web_keys', { bearer: null })
    expect(anonymous).toMatchObject({ status: 401, body: { code: 16 } })
    expect(anonymous.headers.get('www-authenticate')).toMatch(/^Bearer resource_metadata=/)
  })
})

describe('the scopes of ZITADEL', () => {
  it('ask for what their counterparts ask for', async () => {
    const own = await instance.seed.project({ name: 'billing', roles: ['reader'] })
    const robot = await instance.addRobot({ project: own, projectRoles: { [own.projectId]: ['reader'] } })
    const claimsOf = async (vendor: string) => {
      const project = `urn:${vendor}:iam:org:project:id:${own.projectId}:aud`
      const scope = `openid urn:${vendor}:iam:org:project:id:${vendor}:aud ${project} urn:${vendor}:iam:org:projects:roles`
      const {
        iat: _,
        exp: __,
        jti: ___,
        scope: granted,
        ...claims
      } = decodeJwt(await instance.accessToken(robot, scope))
      expect(granted).toBe(scope)
      return claims
    }
    expect(await claimsOf('zitadel')).toEqual(await claimsOf('service'))
  })
})

describe('health, reflection and discovery', () => {
  it('know the services', async () => {
    expect(await checkHealth(instance.keyturn.listenUrl, V2)).toBe('SERVING')
    expect(await checkHealth(instance.keyturn.listenUrl, V2BETA)).toBe('SERVING')
  })

  it("have the members without which ZITADEL's client for PHP does not start", async () => {
    const { baseUrl } = instance.keyturn
    const response = await instance.fetch('/.well-known/openid-configuration')
    expect(await response.json()).toMatchObject({
      authorization_endpoint: `${baseUrl}/oauth/v2/authorize`,
      userinfo_endpoint: `${baseUrl}/oidc/v1/userinfo`,
      response_types_supported: [],
    })
  })
})

describe('without KEYTURN_ZITADEL_API', () => {
  it('there are no such methods, paths, scopes and members', async () => {
    const to = without
    expect(await send('POST', `/${V2}/ListWebKeys`, { body: {}, to })).toMatchObject({ status: 404 })
    expect(await send('POST', `/${V2BETA}/ListWebKeys`, { body: {}, to })).toMatchObject({ status: 404 })
    expect(await send('GET', '/v2/web_keys', { to })).toMatchObject({ status: 404, body: { error: 'not_found' } })
    await expect(checkHealth(to.listenUrl, V2)).rejects.toThrow('there is no such service')
    const { client_id, client_secret } = await instance.keyturn.admin()
    const form = { grant_type: 'client_credentials', client_id, client_secret, scope: SCOPES }
    expect(await (await instance.postForm(form, {}, to)).json()).toMatchObject({ error: 'invalid_scope' })
    const discovery = await fetch(`${to.listenUrl}/.well-known/openid-configuration`)
    expect(await discovery.json()).not.toHaveProperty('userinfo_endpoint')
  })
})
