import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type AdminCredentials, type Keyturn, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { freePort } from '../support/postgres.ts'
import { parsePrometheusText } from '../support/prometheus-text.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

let server: Keyturn
let address: string
let admin: AdminCredentials

beforeAll(async () => {
  address = `127.0.0.1:${await freePort()}`
  server = await startKeyturn({ env: { KEYTURN_METRICS_LISTEN: address } })
  admin = await server.admin()
})

afterAll(async () => {
  await server.stop()
  await removeFolder(server.dataDir)
})

async function measured(name: string, labels: Record<string, string> = {}): Promise<number> {
  const text = await (await fetch(`http://${address}/metrics`)).text()
  const samples = parsePrometheusText(text).get(name)?.samples ?? []
  const found = samples.filter((sample) =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  return found.reduce((sum, { value }) => sum + value, 0)
}

async function post(form: Record<string, string>): Promise<number> {
  const response = await fetch(admin.token_endpoint, { method: 'POST', body: new URLSearchParams(form) })
  await response.text()
  return response.status
}

describe('the metrics of a server', () => {
  it('tell clients that may not try apart from a service that cannot', async () => {
    const client_id = `${admin.client_id.split('@')[0]}x@keyturn`
    let status = 0
    for (let i = 0; i < 200 && status !== 429; i++) {
      status = await post({ grant_type: 'client_credentials', client_id, client_secret: 'wrong' })
    }
    expect(status).toBe(429)
    expect(await measured('keyturn_token_failures_total', { reason: 'too_many_failures' })).toBe(1)
    expect(await measured('keyturn_token_failures_total', { reason: 'temporarily_unavailable' })).toBe(0)
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
})
