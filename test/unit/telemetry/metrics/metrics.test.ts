import { describe, expect, it } from '@jest/globals'
import { createMetrics, type Metrics } from '../../../../src/telemetry/metrics/metrics.ts'
import { type Family, parsePrometheusText } from '../../../support/prometheus-text.ts'

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

describe('the metrics of a server that starts', () => {
  it('say from the beginning that it is not ready, or no alert could see that it never is', async () => {
    const metrics = createMetrics()
    const { samples } = (await scrape(metrics)).get('keyturn_replica_ready')!
    expect(samples).toEqual([{ name: 'keyturn_replica_ready', labels: {}, value: 0 }])
    await metrics.stop()
  })
})
