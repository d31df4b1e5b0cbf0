/**
 * A worker as the primary sees it: a process that was told to start.
 */
import cluster, { type Worker } from 'node:cluster'
import type { MetricFamilies } from '../telemetry/metrics/metrics.ts'
import type { Failure, Order, Report, ServerFacts } from './protocol.ts'

/** How a worker ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
  /** What it said about it before. */
  readonly failure: Failure | null
}

/** One process, from its start to its end. */
export interface WorkerProcess {
  readonly pid: number | undefined
  /** Resolves when it serves, never if it ends before. */
  readonly ready: Promise<ServerFacts>
  readonly exited: Promise<Exit>
  /** Whether it has the port open, or opens it as soon as it can, so that clients find somebody there. */
  readonly holdsPort: boolean
  /** Tells it to open the port now, although it has nothing to serve yet. */
  open(port: number): void
  /** The newest metrics it has handed over. */
  readonly lastMetrics: MetricFamilies
  /** Whether they are its answer to the newest question for them. */
  readonly hasAnswered: boolean
  /** Asks for its metrics. Resolves when it has answered or ended, whenever that is. */
  measure(): Promise<void>
  /** Tells it to finish what is in flight and end. @param drains Whether clients get the time to go elsewhere before. */
  stop(drains: boolean): void
  /** Ends it at once. */
  kill(): void
}

/** What a worker is told when it starts. */
type StartFacts = Omit<Extract<Order, { kind: 'start' }>, 'kind'>

/**
 * Starts a worker with the command line and the environment of this process.
 *
 * @param facts.port What it listens on; workers that are told the same one share it, also when that is 0.
 * @param facts.baseUrl That of the server if other workers serve the port, otherwise null.
 */
export function forkWorker(facts: StartFacts): WorkerProcess {
  // Workers take connections from one listening socket. The alternative, that the primary takes and hands them over,
  // loses those that are on their way to a worker that dies.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // JSON has no infinity, which metrics may have.
  cluster.setupPrimary({ serialization: 'advanced' })
  let worker: Worker
  try {
    worker = cluster.fork()
  } catch (error) {
    return neverStarted(error)
  }
  const ready = Promise.withResolvers<ServerFacts>()
  const exited = Promise.withResolvers<Exit>()
  let holdsPort = facts.baseUrl === null
  let failure: Failure | null = null
  let metrics: MetricFamilies = []
  let hasAnswered = true
  let measuring: PromiseWithResolvers<void> | undefined
  let hasEnded = false

  worker.on('message', (report: Report) => {
    if (report.kind === 'ready') {
      holdsPort = true
      ready.resolve(report.server)
    }
    if (report.kind === 'failed') failure = report.failure
    if (report.kind === 'metrics') {
      hasAnswered = report.families !== null
      metrics = report.families ?? metrics
      measuring?.resolve()
      measuring = undefined
    }
  })
  const end = (exit: Exit): void => {
    hasEnded = true
    measuring?.resolve()
    exited.resolve(exit)
  }
  worker.once('exit', (code: number | null, signal: string | null) => end({ code, signal: signal || null, failure }))
  worker.on('error', (error: unknown) => {
    // Without a process there is no exit. Other errors are of the channel, which closes when the process ends.
    if (worker.process.pid === undefined) end({ code: null, signal: null, failure: failureOf(error) })
  })
  const tell = (order: Order): void => {
    if (worker.isConnected()) worker.send(order)
  }
  tell({ kind: 'start', ...facts })

  return {
    pid: worker.process.pid,
    ready: ready.promise,
    exited: exited.promise,
    get holdsPort() {
      return holdsPort
    },
    open: (port) => {
      holdsPort = true
      tell({ kind: 'open', port })
    },
    get lastMetrics() {
      return metrics
    },
    get hasAnswered() {
      return hasAnswered
    },
    measure: async () => {
      if (hasEnded) return
      if (measuring === undefined) {
        measuring = Promise.withResolvers()
        hasAnswered = false
        tell({ kind: 'measure' })
      }
      await measuring.promise
    },
    stop: (drains) => tell({ kind: 'stop', drains }),
    kill: () => void worker.process.kill('SIGKILL'),
  }
}

/** What there is when the system has no process to give, for want of memory for example. */
function neverStarted(error: unknown): WorkerProcess {
  return {
    pid: undefined,
    ready: new Promise(() => {}),
    exited: Promise.resolve({ code: null, signal: null, failure: failureOf(error) }),
    holdsPort: false,
    open: () => {},
    lastMetrics: [],
    hasAnswered: true,
    measure: async () => {},
    stop: () => {},
    kill: () => {},
  }
}

function failureOf(error: unknown): Failure {
  const reason = error instanceof Error ? error.message : String(error)
  return { message: `no process could be started: ${reason}`, problems: null }
}
