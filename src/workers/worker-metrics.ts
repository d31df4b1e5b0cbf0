/**
 * The metrics of all workers as one text, and how the workers themselves are.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { READY } from '../telemetry/metrics/replica-metrics.ts'
import { type Exposition, formatExposition, parseExposition } from './exposition.ts'
import { combine, onlyCounters } from './metric-sums.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSupervisor } from './worker-supervisor.ts'

/** What counts while no worker says better. */
const NOT_READY = parseExposition(
  [`# HELP ${READY.name} ${READY.description}`, `# TYPE ${READY.name} gauge`, `${READY.name} 0`].join('\n'),
)

/** How long a worker may take to hand over its metrics, in milliseconds. */
const ANSWER_TIMEOUT = 2_000

export class WorkerMetrics {
  /** Counters of the workers that are gone, so that no sum ever goes backwards. */
  #past: Exposition = new Map()

  /** Keeps what a worker that is gone has counted. What it counted after it was last asked is lost. */
  keep({ lastMetrics }: WorkerProcess): void {
    this.#past = combine([this.#past, onlyCounters(parseExposition(lastMetrics))])
  }

  /** Asks those that serve. One that does not answer in time counts with what it last said, but not its gauges. */
  async sum(slots: readonly WorkerSupervisor[]): Promise<string> {
    await Promise.all(slots.map((slot) => (slot.ready ? answerOf(slot.worker) : undefined)))
    // From here on nothing waits: a worker that ends is either among the slots or in the past.
    const expositions = slots.flatMap(({ worker }) => {
      if (worker === undefined) return []
      const families = parseExposition(worker.lastMetrics)
      return [worker.hasAnswered ? families : onlyCounters(families)]
    })
    const families = new Map([...NOT_READY, ...combine([this.#past, ...expositions])])
    return formatExposition(families) + describeWorkers(slots)
  }
}

async function answerOf(worker: WorkerProcess | undefined): Promise<void> {
  const giveUp = new AbortController()
  const { signal } = giveUp
  await Promise.race([worker?.measure(), delay(ANSWER_TIMEOUT, undefined, { signal }).catch(() => undefined)])
  giveUp.abort()
}

function describeWorkers(slots: readonly WorkerSupervisor[]): string {
  const running = slots.filter(({ ready }) => ready).length
  const restarts = slots.reduce((sum, slot) => sum + slot.restarts, 0)
  return [
    '# HELP keyturn_workers Worker processes by state.',
    '# TYPE keyturn_workers gauge',
    `keyturn_workers{state="running"} ${running}`,
    `keyturn_workers{state="restarting"} ${slots.length - running}`,
    '# HELP keyturn_worker_restarts_total Worker processes that were started to replace one that ended.',
    '# TYPE keyturn_worker_restarts_total counter',
    `keyturn_worker_restarts_total ${restarts}`,
    '',
  ].join('\n')
}
