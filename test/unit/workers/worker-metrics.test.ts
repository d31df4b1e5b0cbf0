import { describe, expect, it } from '@jest/globals'
import { createMetrics } from '../../../src/telemetry/metrics/metrics.ts'
import { formatExposition, parseExposition } from '../../../src/workers/exposition.ts'
import { combine, onlyCounters } from '../../../src/workers/metric-sums.ts'
import { WorkerMetrics } from '../../../src/workers/worker-metrics.ts'

const sum = (...texts: string[]) => formatExposition(combine(texts.map(parseExposition)))
const gauge = (name: string, value: number | string) => `# TYPE ${name} gauge\n${name} ${value}\n`

describe('metrics of several workers', () => {
  it('are those of one if there is one', async () => {
    const metrics = createMetrics()
    metrics.recordRequest({ route: '/a "quoted\\" } 1', status: 200, seconds: 0.25 })
    const text = await metrics.text()
    expect(text).toContain('le="+Inf"} 1\n')
    expect(sum(text)).toBe(text)
    await metrics.stop()
  })

  it('add up counters and histograms, also those that only one has', async () => {
    const [a, b] = [createMetrics(), createMetrics()]
    a.recordRequest({ route: '/both', status: 200, seconds: 0.25 })
    b.recordRequest({ route: '/both', status: 200, seconds: 3 })
    b.recordRequest({ route: '/one', status: 404, seconds: 1 })
    const text = sum(await a.text(), await b.text())
    expect(text).toMatch(/^keyturn_request_duration_seconds_count\{route="\/both".*\} 2$/m)
    expect(text).toMatch(/^keyturn_request_duration_seconds_sum\{route="\/both".*\} 3\.25$/m)
    expect(text).toMatch(/^keyturn_request_duration_seconds_bucket\{route="\/both".*le="0\.5"\} 1$/m)
    expect(text).toMatch(/^keyturn_request_duration_seconds_bucket\{route="\/both".*le="5"\} 2$/m)
    expect(text).toMatch(/^keyturn_request_duration_seconds_count\{route="\/one".*\} 1$/m)
    expect(text.match(/^# TYPE keyturn_request_duration_seconds /gm)).toHaveLength(1)
    await Promise.all([a.stop(), b.stop()])
  })

  it('take the highest of a gauge, such as the age of what is in memory', () => {
    const name = 'keyturn_replica_staleness_seconds'
    expect(sum(gauge(name, 0.5), gauge(name, 7), gauge(name, 2))).toBe(gauge(name, 7))
    expect(sum(gauge(name, 0.5), gauge(name, '+Inf'))).toBe(gauge(name, '+Inf'))
  })

  it('take the lowest of whether something works, and add up connections', () => {
    expect(sum(gauge('keyturn_replica_ready', 1), gauge('keyturn_replica_ready', 0))).toBe(
      gauge('keyturn_replica_ready', 0),
    )
    const name = 'keyturn_database_connections'
    expect(sum(gauge(name, 3), gauge(name, 4))).toBe(gauge(name, 7))
  })

  it('say that nothing is ready while no worker serves', async () => {
    expect(await new WorkerMetrics().sum([])).toMatch(/^keyturn_replica_ready 0$/m)
  })

  it('keep of a worker that is gone what it counted, and nothing else', () => {
    const counter = '# TYPE keyturn_done_total counter\nkeyturn_done_total 5\n'
    expect(formatExposition(onlyCounters(parseExposition(counter + gauge('keyturn_replica_ready', 1))))).toBe(counter)
  })
})
