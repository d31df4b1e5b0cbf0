import { Code, ConnectError } from '@connectrpc/connect'
import { status } from '@grpc/grpc-js'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { callWithGrpcJs } from '../support/grpc-js.ts'
import { type Keyturn, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { TRANSPORTS, type TransportName, webKeyClient } from '../support/web-key-client.ts'

let server: Keyturn
let token: string

beforeAll(async () => {
  server = await startKeyturnInProcess({ env: { KEYTURN_ACTIVATION_GUARD: 'off' } })
})

// A test may have deleted the key that signed the token before.
beforeEach(async () => {
  token = await requestToken(await server.admin())
})

afterAll(() => removeServers(server))

describe('the web key service', () => {
  it.each(Object.keys(TRANSPORTS) as TransportName[])(
    'creates, activates, lists and deletes keys over %s [Spec §4.3]',
    async (transport) => {
      const client = webKeyClient(server.baseUrl, token, transport)
      const before = (await client.listWebKeys({})).webKeys.find((key) => key.state === State.ACTIVE)

      const created = await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
      const keyId = created.details?.keyId ?? ''
      expect(created.details).toMatchObject({ state: State.INITIAL, algorithm: 'EdDSA' })

      const activated = await client.activateWebKey({ keyId })
      expect(activated.details).toMatchObject({ keyId, state: State.ACTIVE })

      const states = new Map((await client.listWebKeys({})).webKeys.map((key) => [key.keyId, key.state]))
      expect(states.get(keyId)).toBe(State.ACTIVE)
      expect(states.get(before?.keyId ?? '')).toBe(State.INACTIVE)

      const deleted = await client.deleteWebKey({ keyId: before?.keyId ?? '' })
      expect(deleted.details?.changeDate).toBeDefined()
    },
  )

  it.each(Object.keys(TRANSPORTS) as TransportName[])(
    'refuses with the same code and reason over %s',
    async (transport) => {
      const client = webKeyClient(server.baseUrl, token, transport)
      const error = await client.deleteWebKey({ keyId: 'nothing' }).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(ConnectError)
      expect(error).toMatchObject({ code: Code.NotFound, rawMessage: 'there is no web key "nothing"' })
      await expect(webKeyClient(server.baseUrl, null, transport).listWebKeys({})).rejects.toMatchObject({
        code: Code.Unauthenticated,
      })
    },
  )

  it('serves a gRPC client that is not ours', async () => {
    const { createWebKey, listWebKeys, deleteWebKey } = WebKeyService.method
    const created = await callWithGrpcJs(server.listenUrl, token, createWebKey, {
      config: { config: { case: 'ed25519', value: {} } },
    })
    const listed = await callWithGrpcJs(server.listenUrl, token, listWebKeys, {})
    expect(listed.webKeys.map((key) => key.keyId)).toContain(created.details?.keyId)

    const request = { keyId: created.details?.keyId ?? '' }
    await expect(callWithGrpcJs(server.listenUrl, token, deleteWebKey, request)).rejects.toMatchObject({
      code: status.FAILED_PRECONDITION,
    })
    await expect(callWithGrpcJs(server.listenUrl, null, listWebKeys, {})).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    })
  })

  it('serves plain JSON by POST and lists by GET', async () => {
    const url = `${server.baseUrl}/iam.webkey.v2beta.WebKeyService`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const posted = await fetch(`${url}/CreateWebKey`, { method: 'POST', headers, body: '{"config":{"ed25519":{}}}' })
    expect(posted.status).toBe(200)
    const { details } = (await posted.json()) as { details: Record<string, string> }
    expect(details).toEqual({ keyId: expect.stringMatching(/^[\w-]{43}$/), state: 'STATE_INITIAL', algorithm: 'EdDSA' })

    const query = new URLSearchParams({ connect: 'v1', encoding: 'json', message: '{}' })
    const got = await fetch(`${url}/ListWebKeys?${query}`, { headers: { authorization: headers.authorization } })
    const { webKeys } = (await got.json()) as { webKeys: Record<string, string>[] }
    expect(webKeys.find((key) => key.keyId === details.keyId)).toEqual({
      keyId: details.keyId,
      algorithm: 'EdDSA',
      state: 'STATE_INITIAL',
      creationDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    })
  })
})
