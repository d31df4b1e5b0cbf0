import { afterEach, describe, expect, it } from '@jest/globals'
import { createMetrics, type MetricFamilies, type Metrics } from '../../../src/telemetry/metrics/metrics.ts'
import { WorkerMetrics } from '../../../src/workers/worker-metrics.ts'
import type { WorkerProcess } from '../../../src/workers/worker-process.ts'
import { WorkerSupervisor } from '../../../src/workers/worker-supervisor.ts'
import { createRecordingLog } from '../../support/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { parsePrometheusText } from '../../support/prometheus-text.ts'

const STALENESS = 'keyturn_replica_staleness_seconds'
const SECONDS = 'keyturn_request_duration_seconds'

const measured: Metrics[] = []
afterEach(() => {
  for (const metrics of measured.splice(0)) metrics.stop()
})

function createMeasured(...requests: { readonly route: string; readonly seconds: number }[]): Metrics {
  const metrics = createMetrics()
  measured.push(metrics)
  for (const request of requests) metrics.recordRequest({ ...request, status: 200 })
  return metrics
}

/** A worker that serves, with these metrics. */
function createWorker(lastMetrics: MetricFamilies, hasAnswered = true): WorkerProcess {
  return {
    pid: 1,
    ready: Promise.resolve({ listenUrl: '', baseUrl: '', initialised: false }),
    exited: new Promise(() => {}),
    holdsPort: true,
    open: () => {},
    lastMetrics,
    hasAnswered,
    measure: async () => {},
    stop: () => {},
    kill: () => {},
  }
}

/** The metrics of these workers, with the sums of their series by the labels. */
async function metricsOf(...workers: WorkerProcess[]) {
  const supervisors = workers.map((worker) => {
    const supervisor = new WorkerSupervisor({
      fork: () => worker,
      onExit: () => {},
      clock: new ManualClock(),
      log: createRecordingLog(),
    })
    supervisor.run()
    return supervisor
  })
  await new Promise((done) => setImmediate(done))
  const metrics = new WorkerMetrics(supervisors)
  return {
    metrics,
    async value(name: string, labels: Record<string, string> = {}): Promise<number | undefined> {
      const families = parsePrometheusText(await metrics.text())
      const samples = [...families.values()].flatMap(({ samples }) => samples)
      return samples.find(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      )?.value
    },
  }
}

/** The families of a process, with other values for gauges without labels. */
async function familiesWith(gauges: Record<string, number>, metrics = createMeasured()): Promise<MetricFamilies> {
  const families = await metrics.families()
  const [like] = families.filter(({ name }) => name === 'keyturn_replica_ready')
  const others = families.filter(({ name }) => gauges[name] === undefined)
  const given = Object.entries(gauges).map(([name, value]) => {
    const known = families.find((family) => family.name === name)
    return { ...(known ?? { ...like!, aggregator: 'max' as const }), name, values: [{ labels: {}, value }] }
  })
  return [...others, ...given]
}

describe('metrics of several workers', () => {
  it('are those of one if there is one', async () => {
    const metrics = createMeasured({ route: '/a "quoted\\" } 1', seconds: 0.25 })
    const { metrics: all } = await metricsOf(createWorker(await metrics.families()))
    const own = new Set(['keyturn_workers', 'keyturn_worker_restarts_total'])
    const changing = /^(process_|nodejs_)/
    const comparable = (text: string) =>
      [...parsePrometheusText(text)].filter(([name]) => !own.has(name) && !changing.test(name))
    expect(comparable(await all.text())).toEqual(comparable(await metrics.text()))
  })

  it('add up counters and histograms, also those that only one has', async () => {
    const a = createMeasured({ route: '/both', seconds: 0.25 })
    const b = createMeasured({ route: '/both', seconds: 3 }, { route: '/one', seconds: 1 })
    const { value } = await metricsOf(createWorker(await a.families()), createWorker(await b.families()))
    expect(await value(`${SECONDS}_count`, { route: '/both' })).toBe(2)
    expect(await value(`${SECONDS}_sum`, { route: '/both' })).toBe(3.25)
    expect(await value(`${SECONDS}_bucket`, { route: '/both', le: '0.5' })).toBe(1)
    expect(await value(`${SECONDS}_bucket`, { route: '/both', le: '5' })).toBe(2)
    expect(await value(`${SECONDS}_count`, { route: '/one' })).toBe(1)
  })

  it('take the highest of a gauge, such as the age of what is in memory', async () => {
    const workers = await Promise.all([0.5, 7, 2].map((age) => familiesWith({ [STALENESS]: age })))
    const { value } = await metricsOf(...workers.map((families) => createWorker(families)))
    expect(await value(STALENESS)).toBe(7)
    const never = await metricsOf(createWorker(await familiesWith({ [STALENESS]: Number.POSITIVE_INFINITY })))
    expect(await never.value(STALENESS)).toBe(Number.POSITIVE_INFINITY)
  })

  it('take the lowest of whether something works, and add up requests in flight', async () => {
    const ready = await familiesWith({ keyturn_replica_ready: 1, keyturn_requests_in_flight: 3 })
    const starting = await familiesWith({ keyturn_replica_ready: 0, keyturn_requests_in_flight: 4 })
    const { value } = await metricsOf(createWorker(ready), createWorker(starting))
    expect(await value('keyturn_replica_ready')).toBe(0)
    expect(await value('keyturn_requests_in_flight')).toBe(7)
  })

  it('say that nothing is ready while no worker serves', async () => {
    expect(await (await metricsOf()).value('keyturn_replica_ready')).toBe(0)
  })

  it('have the counters of workers that ended or hang, and nothing else of them', async () => {
    const families = await familiesWith({ keyturn_replica_ready: 1 }, createMeasured({ route: '/a', seconds: 1 }))
    const { metrics, value } = await metricsOf(createWorker(families, false))
    await metrics.keep(createWorker(families))
    await metrics.keep(createWorker(families))
    expect(await value(`${SECONDS}_count`, { route: '/a' })).toBe(3)
    expect(await value('keyturn_replica_ready')).toBe(0)
    expect(await value('keyturn_build_info')).toBeUndefined()
  })
})
