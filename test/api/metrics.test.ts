import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SignJWT } from 'jose'
import { administrationWith } from '../support/administration.ts'
import { newProofKey, proofOf } from '../support/dpop.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import {
  type AdminCredentials,
  type Keyturn,
  removeServers,
  requestToken,
  startKeyturnInProcess,
} from '../support/keyturn.ts'
import { parsePrometheusText } from '../support/prometheus-text.ts'
import { webKeyClient } from '../support/web-key-client.ts'

let server: Keyturn
let address: string
let admin: AdminCredentials

beforeAll(async () => {
  address = `127.0.0.1:${await freePort()}`
  server = await startKeyturnInProcess({ env: { KEYTURN_METRICS_LISTEN: address } })
  admin = await server.admin()
})

afterAll(() => removeServers(server))

/** Once all requests before it are counted, which is when their responses have closed. */
async function measured(name: string, labels: Record<string, string> = {}): Promise<number> {
  const families = await eventually(async () => {
    const text = await (await fetch(`http://${address}/metrics`)).text()
    const read = parsePrometheusText(text)
    expect(read.get('keyturn_requests_in_flight')?.samples).toMatchObject([{ value: 0 }])
    return read
  })
  const samples = families.get(name)?.samples ?? []
  const found = samples.filter((sample) =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  return found.reduce((sum, { value }) => sum + value, 0)
}

async function post(form: Record<string, string>, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(admin.token_endpoint, { method: 'POST', body: new URLSearchParams(form), headers })
  await response.text()
  return response.status
}

describe('the metrics of a server', () => {
  it('name no path that a client has made up', async () => {
    await fetch(`${server.listenUrl}/made-up-by-a-client`)
    await measured('keyturn_requests_in_flight')
    const text = await (await fetch(`http://${address}/metrics`)).text()
    expect(text).toMatch(/^keyturn_request_duration_seconds_count\{route="other",status="404".*\} 1$/m)
    expect(text).not.toContain('made-up')
  })

  it('count refused token requests by their OAuth error', async () => {
    const { client_id, client_secret } = admin
    await post({ grant_type: 'client_credentials', client_id, client_secret: 'wrong' })
    await post({ grant_type: 'client_credentials', client_id, client_secret, scope: 'unknown:scope' })
    await post({ grant_type: 'password', client_id, client_secret })
    await post({ client_id, client_secret })
    for (const reason of ['invalid_client', 'invalid_scope', 'unsupported_grant_type', 'invalid_request']) {
      expect([reason, await measured('keyturn_token_failures_total', { reason })]).toEqual([reason, 1])
    }
    expect(await measured('keyturn_token_failures_total', { reason: 'other' })).toBe(0)
  })

  it('count tokens by the algorithm that signed them', async () => {
    await requestToken(admin)
    const before = await measured('keyturn_tokens_issued_total', { algorithm: 'RS256' })
    const client = webKeyClient(server.listenUrl, await requestToken(admin))
    const { details } = await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    await client.activateWebKey({ keyId: details?.keyId ?? '' })
    await requestToken(admin)
    expect(await measured('keyturn_tokens_issued_total', { algorithm: 'RS256' })).toBe(before + 1)
    expect(await measured('keyturn_tokens_issued_total', { algorithm: 'EdDSA' })).toBe(1)
    expect(await measured('keyturn_web_keys', { state: 'inactive' })).toBe(1)
    expect(await measured('keyturn_can_sign')).toBe(1)
  })

  it('count tokens by the credential that got them and by their binding', async () => {
    const { client_id, client_secret } = admin
    const credentials = { grant_type: 'client_credentials', client_id, client_secret }
    const secrets = await measured('keyturn_token_grants_total', { credential: 'client_secret', binding: 'none' })
    expect(await post(credentials)).toBe(200)
    // Such a request is not plain.
    expect(await post({ ...credentials, resource: server.baseUrl })).toBe(200)
    const granted = { credential: 'client_secret', binding: 'none' }
    expect(await measured('keyturn_token_grants_total', granted)).toBe(secrets + 2)

    const proof = await proofOf(await newProofKey(), { url: `${server.baseUrl}/oauth/v2/token` })
    expect(await post(credentials, { dpop: proof })).toBe(200)
    expect(await measured('keyturn_token_grants_total', { ...granted, binding: 'dpop' })).toBe(1)

    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { users } = administrationWith(server, await requestToken(admin))
    const [userId = ''] = client_id.split('@')
    await users.addUserKey({ userId, publicJwk: JSON.stringify(pair.publicKey.export({ format: 'jwk' })) })
    const assertion = await new SignJWT()
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(client_id)
      .setSubject(client_id)
      .setAudience(server.baseUrl)
      .setJti('once')
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(pair.privateKey)
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    const form = { grant_type: 'client_credentials', client_assertion_type, client_assertion: assertion }
    expect(await post(form)).toBe(200)
    expect(await measured('keyturn_token_grants_total', { credential: 'private_key_jwt' })).toBe(1)
  })
})
