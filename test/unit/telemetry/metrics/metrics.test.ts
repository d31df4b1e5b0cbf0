import { describe, expect, it } from '@jest/globals'
import type { DatabaseStatus } from '../../../../src/telemetry/metrics/database-metrics.ts'
import { createMetrics, type Metrics } from '../../../../src/telemetry/metrics/metrics.ts'
import { type Family, parsePrometheusText } from '../../../support/prometheus-text.ts'

const TOKEN = '/oauth/v2/token'
const CREATE = '/iam.webkey.v2beta.WebKeyService/CreateWebKey'
const POST = { method: 'POST', seconds: 0.02 }

async function scrape(metrics: Metrics): Promise<Map<string, Family>> {
  return parsePrometheusText(await metrics.registry.metrics())
}

/** The values of a metric by the values of its labels, without those that are 0. */
async function valuesOf(metrics: Metrics, name: string): Promise<Record<string, number>> {
  const samples = (await scrape(metrics)).get(name)?.samples ?? []
  return Object.fromEntries(
    samples.filter(({ value }) => value !== 0).map(({ labels, value }) => [Object.values(labels).join(' '), value]),
  )
}

describe('the metrics of requests', () => {
  it('count token requests without a token by reason, and rate-limited ones apart', async () => {
    const metrics = createMetrics()
    metrics.recordRequest({ ...POST, route: TOKEN, status: 401, failure: 'invalid_client' })
    metrics.recordRequest({ ...POST, route: TOKEN, status: 401, failure: 'invalid_client' })
    metrics.recordRequest({ ...POST, route: TOKEN, status: 429, failure: 'temporarily_unavailable' })
    metrics.recordRequest({ ...POST, route: TOKEN, status: 503, failure: 'temporarily_unavailable' })
    metrics.recordRequest({ ...POST, route: TOKEN, status: 400, failure: 'an unknown reason' })
    metrics.recordRequest({ ...POST, route: TOKEN, status: 413 })
    metrics.recordRequest({ ...POST, route: TOKEN, status: 200 })
    expect(await valuesOf(metrics, 'keyturn_token_failures_total')).toEqual({
      invalid_client: 2,
      too_many_failures: 1,
      temporarily_unavailable: 1,
      other: 2,
    })
    await metrics.stop()
  })

  it('count tokens by credential and binding, and refusals of the other OAuth endpoints apart', async () => {
    const metrics = createMetrics()
    metrics.recordRequest({ ...POST, route: TOKEN, status: 200 })
    metrics.recordRequest({
      ...POST,
      route: TOKEN,
      status: 200,
      grant: { credential: 'client_secret', binding: 'none' },
    })
    metrics.recordRequest({
      ...POST,
      route: TOKEN,
      status: 200,
      grant: { credential: 'federated_jwt', binding: 'dpop' },
    })
    metrics.recordRequest({ ...POST, route: '/oauth/v2/introspect', status: 200 })
    metrics.recordRequest({ ...POST, route: '/oauth/v2/introspect', status: 401, failure: 'invalid_client' })
    metrics.recordRequest({ ...POST, route: '/oauth/v2/revoke', status: 429 })
    expect(await valuesOf(metrics, 'keyturn_token_grants_total')).toEqual({
      'client_secret none': 2,
      'federated_jwt dpop': 1,
    })
    expect(await valuesOf(metrics, 'keyturn_oauth_failures_total')).toEqual({
      'introspection invalid_client': 1,
      'revocation too_many_failures': 1,
    })
    expect(await valuesOf(metrics, 'keyturn_token_failures_total')).toEqual({})
    await metrics.stop()
  })

  it('begin with 0 for each reason, or an alert would not see the first failure', async () => {
    const metrics = createMetrics()
    const { samples } = (await scrape(metrics)).get('keyturn_token_failures_total')!
    expect(samples).toContainEqual(expect.objectContaining({ labels: { reason: 'invalid_client' }, value: 0 }))
    await metrics.stop()
  })

  it('count failed RPCs by method and reason, whatever their HTTP status is', async () => {
    const metrics = createMetrics()
    metrics.recordRequest({ ...POST, route: CREATE, status: 200 })
    metrics.recordRequest({ ...POST, route: CREATE, status: 200, failure: 'WEB_KEY_LIMIT_REACHED' })
    metrics.recordRequest({ ...POST, route: CREATE, status: 403, failure: 'PERMISSION_MISSING' })
    metrics.recordRequest({ ...POST, route: CREATE, status: 415 })
    metrics.recordRequest({ ...POST, route: CREATE, status: 400, failure: 'made up' })
    expect(await valuesOf(metrics, 'keyturn_rpc_failures_total')).toEqual({
      [`${CREATE.slice(1)} WEB_KEY_LIMIT_REACHED`]: 1,
      [`${CREATE.slice(1)} PERMISSION_MISSING`]: 1,
      [`${CREATE.slice(1)} other`]: 2,
    })
    await metrics.stop()
  })
})

describe('the metrics of tokens', () => {
  it('count signatures by algorithm, and none that failed', async () => {
    const metrics = createMetrics()
    let broken = false
    const key = { algorithm: 'EdDSA' } as never
    const signers = metrics.countTokens({
      open: async () => ({
        key,
        sign: async (data) => {
          if (broken) throw new Error('no')
          return data
        },
      }),
    })
    const signer = await signers.open(key, 'sealed')
    const { samples } = (await scrape(metrics)).get('keyturn_tokens_issued_total')!
    expect(samples).toEqual([{ name: 'keyturn_tokens_issued_total', labels: { algorithm: 'EdDSA' }, value: 0 }])
    expect(signer.key).toBe(key)
    const data = new Uint8Array([1])
    expect(await signer.sign(data)).toBe(data)
    broken = true
    await expect(signer.sign(data)).rejects.toThrow('no')
    expect(await valuesOf(metrics, 'keyturn_tokens_issued_total')).toEqual({ EdDSA: 1 })
    await metrics.stop()
  })
})

describe('the metrics of a server that starts', () => {
  it('say from the beginning that it is not ready, or no alert could see that it never is', async () => {
    const metrics = createMetrics()
    const { samples } = (await scrape(metrics)).get('keyturn_replica_ready')!
    expect(samples).toEqual([{ name: 'keyturn_replica_ready', labels: {}, value: 0 }])
    await metrics.stop()
  })
})

describe('the metrics of the database', () => {
  const status: DatabaseStatus = {
    reachable: () => true,
    standby: () => true,
    pools: () => ({ serving: { total: 4, idle: 1, waiting: 0 }, administration: { total: 2, idle: 2, waiting: 7 } }),
    changeFeed: () => 'disconnected',
    clockOffsetSeconds: () => -0.25,
  }

  it('say what is asked at the time of the scrape', async () => {
    const metrics = createMetrics()
    metrics.observeDatabase(status)
    expect(await valuesOf(metrics, 'keyturn_database_reachable')).toEqual({ '': 1 })
    expect(await valuesOf(metrics, 'keyturn_database_standby')).toEqual({ '': 1 })
    expect(await valuesOf(metrics, 'keyturn_change_feed')).toEqual({ disconnected: 1 })
    expect(await valuesOf(metrics, 'keyturn_clock_offset_seconds')).toEqual({ '': -0.25 })
    expect(await valuesOf(metrics, 'keyturn_database_waiting')).toEqual({ administration: 7 })
    expect(await valuesOf(metrics, 'keyturn_database_connections')).toEqual({
      'serving used': 3,
      'serving idle': 1,
      'administration idle': 2,
    })
    await metrics.stop()
  })
})
