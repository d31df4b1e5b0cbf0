/**
 * The metrics of all workers as one text, and the metrics of the workers themselves.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { AggregatorRegistry, Registry } from 'prom-client'
import type { MetricFamilies } from '../telemetry/metrics/metrics.ts'
import { observeCounter, observeGauge } from '../telemetry/metrics/observed-metrics.ts'
import { READY } from '../telemetry/metrics/replica-metrics.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSupervisor } from './worker-supervisor.ts'

/** How long a worker may take to send its metrics, in milliseconds. */
const ANSWER_TIMEOUT = 2_000

export class WorkerMetrics {
  readonly #supervisors: readonly WorkerSupervisor[]
  /** The metrics of this process. */
  readonly #own = new Registry()
  /** Counters of workers that have exited, so that no sum decreases. */
  #exited: readonly MetricFamilies[] = []

  constructor(supervisors: readonly WorkerSupervisor[]) {
    this.#supervisors = supervisors
    observeGauge(this.#own, {
      name: 'keyturn_workers',
      help: 'Worker processes by state.',
      labelNames: ['state'],
      read: () => {
        const running = supervisors.filter(({ ready }) => ready).length
        return [
          { labels: { state: 'running' }, value: running },
          { labels: { state: 'restarting' }, value: supervisors.length - running },
        ]
      },
    })
    observeCounter(this.#own, {
      name: 'keyturn_worker_restarts_total',
      help: 'Worker processes that were started to replace one that ended.',
      read: () => supervisors.reduce((sum, { restarts }) => sum + restarts, 0),
    })
  }

  /** Keeps the counters of a worker that has exited, as it last sent them. */
  async keep({ lastMetrics }: WorkerProcess): Promise<void> {
    const exited = [...this.#exited, onlyCounters(lastMetrics)]
    this.#exited = exited
    const sum = await AggregatorRegistry.aggregate(exited).getMetricsAsJSON()
    if (this.#exited === exited) this.#exited = [sum]
  }

  /** The sum of all workers. Of one that does not answer in time it has the last counters, and no gauges. */
  async text(): Promise<string> {
    await Promise.all(this.#supervisors.map(({ ready, worker }) => (ready ? answerOf(worker) : undefined)))
    const own = await this.#own.getMetricsAsJSON()
    // No await between here and the sum: each worker is counted once, as running or as exited.
    const running = this.#supervisors.flatMap(({ worker }) => {
      if (worker === undefined) return []
      return [worker.hasAnswered ? worker.lastMetrics : onlyCounters(worker.lastMetrics)]
    })
    return await AggregatorRegistry.aggregate([own, ...this.#exited, ...withReadiness(running)]).metrics()
  }
}

/** Adds that the server is not ready if no worker says so. */
function withReadiness(running: readonly MetricFamilies[]): readonly object[] {
  if (running.flat().some(({ name }) => name === READY.name)) return running
  return [...running, [{ ...READY, type: 'gauge', values: [{ labels: {}, value: 0 }] }]]
}

function onlyCounters(families: MetricFamilies): MetricFamilies {
  return families.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
}

async function answerOf(worker: WorkerProcess | undefined): Promise<void> {
  const giveUp = new AbortController()
  const { signal } = giveUp
  await Promise.race([worker?.measure(), delay(ANSWER_TIMEOUT, undefined, { signal }).catch(() => undefined)])
  giveUp.abort()
}
