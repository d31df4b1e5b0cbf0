import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Keyturn, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'

let server: Keyturn
let token: string

beforeAll(async () => {
  server = await startKeyturnInProcess()
  token = await requestToken(await server.admin())
})

afterAll(() => removeServers(server))

interface Answer {
  readonly status: number
  readonly body: { code?: string; message?: string; details?: { type: string; debug?: { reason?: string } }[] }
}

async function call(
  method: string,
  body: string | Uint8Array<ArrayBuffer>,
  contentType = 'application/json',
): Promise<Answer> {
  const response = await fetch(`${server.baseUrl}/iam.webkey.v2beta.WebKeyService/${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': contentType },
    body,
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

function reasonsOf({ body }: Answer): (string | undefined)[] {
  return (body.details ?? []).filter(({ type }) => type === 'google.rpc.ErrorInfo').map(({ debug }) => debug?.reason)
}

describe('a request to create a key', () => {
  it.each([
    ['without a config', '{}', 'config'],
    ['with two variants', '{"config":{"rsa":{},"ed25519":{}}}', 'config'],
    ['with an unknown bits name', '{"config":{"rsa":{"bits":"RSA_BITS_1024"}}}', 'RsaBits'],
    ['with an unknown curve number', '{"config":{"ecdsa":{"curve":9}}}', 'config.ecdsa.curve'],
    ['with an unknown field', '{"config":{"rsa":{"bitz":"RSA_BITS_4096"}}}', 'bitz'],
    ['that is not JSON', '{"config":', 'JSON'],
  ])('%s is invalid, and the answer says where [Spec §2.3]', async (_, body, place) => {
    const answer = await call('CreateWebKey', body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_argument' } })
    expect(answer.body.message).toContain(place)
  })

  it('is not looked at without a token', async () => {
    const response = await fetch(`${server.baseUrl}/iam.webkey.v2beta.WebKeyService/CreateWebKey`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"config":',
    })
    expect(response.status).toBe(401)
  })
})

describe.each(['ActivateWebKey', 'DeleteWebKey'])('%s', (method) => {
  it.each([
    ['an empty key id', '{"keyId":""}', 'key_id'],
    ['a key id over 200 characters', JSON.stringify({ keyId: 'k'.repeat(201) }), 'key_id'],
  ])('refuses %s and names the field', async (_, body, field) => {
    const answer = await call(method, body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_argument' } })
    expect(answer.body.message).toContain(field)
  })

  it.each(['nothing', 'k'.repeat(200)])('does not find %j', async (keyId) => {
    const answer = await call(method, JSON.stringify({ keyId }))
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(reasonsOf(answer)).toEqual(['WEB_KEY_NOT_FOUND'])
  })
})

describe('a request to list by GET', () => {
  it.each([
    ['a message that is not JSON', 'encoding=json&message=%7B'],
    ['a message that is not protobuf', 'encoding=proto&base64=1&message=Cv8'],
  ])('with %s is invalid', async (_, query) => {
    const response = await fetch(`${server.baseUrl}/iam.webkey.v2beta.WebKeyService/ListWebKeys?connect=v1&${query}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const answer = { status: response.status, body: (await response.json()) as Answer['body'] }
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_argument' } })
    expect(reasonsOf(answer)).toEqual(['INVALID_ARGUMENT'])
  })

  it('is not cached, and not possible for what changes something', async () => {
    const headers = { authorization: `Bearer ${token}` }
    const url = `${server.baseUrl}/iam.webkey.v2beta.WebKeyService`
    const listed = await fetch(`${url}/ListWebKeys?connect=v1&encoding=json&message=%7B%7D`, { headers })
    expect([listed.status, listed.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const created = await fetch(`${url}/CreateWebKey?connect=v1&encoding=json&message=%7B%7D`, { headers })
    expect([created.status, created.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  })
})

describe('an invalid request', () => {
  it('that can be read carries the violations, for clients with and without protovalidate, and a reason', async () => {
    const answer = await call('ActivateWebKey', '{"keyId":""}')
    expect(answer.body.details).toMatchObject([
      { type: 'buf.validate.Violations', debug: { violations: [{ ruleId: 'string.min_len' }] } },
      { type: 'google.rpc.BadRequest', debug: { fieldViolations: [{ field: 'key_id', reason: 'STRING_MIN_LEN' }] } },
      { type: 'google.rpc.ErrorInfo', debug: { reason: 'INVALID_ARGUMENT', domain: 'keyturn' } },
    ])
  })
})
