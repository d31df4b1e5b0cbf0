/**
 * A worker process, from the side of the primary.
 */
import cluster, { type Worker } from 'node:cluster'
import type { MetricFamilies } from '../telemetry/metrics/metrics.ts'
import type { Command, Failure, Report, ServerFacts } from './protocol.ts'

/** How a worker exited. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
  /** Its last report, if the start failed. */
  readonly failure: Failure | null
}

/** One process, from its start to its exit. */
export interface WorkerProcess {
  readonly pid: number | undefined
  /** Resolves when it is ready, never if it exits before. */
  readonly ready: Promise<ServerFacts>
  readonly exited: Promise<Exit>
  /** Whether it has the port open, or opens it before it is ready. */
  readonly holdsPort: boolean
  /** Opens the port before the worker is ready. */
  open(port: number): void
  /** The newest metrics that it sent. */
  readonly lastMetrics: MetricFamilies
  /** Whether they answer the newest request for them. */
  readonly hasAnswered: boolean
  /** Requests its metrics. Resolves when it has answered or exited, without a time limit. */
  measure(): Promise<void>
  /** Shuts it down gracefully. @param drains Whether it drains first. */
  stop(drains: boolean): void
  /** Kills it. */
  kill(): void
}

/** The start command of a worker. */
type StartFacts = Omit<Extract<Command, { kind: 'start' }>, 'kind'>

/**
 * Starts a worker with the command line and the environment of this process.
 *
 * @param facts.port The port to listen on. Workers with the same one share it, also if it is 0.
 * @param facts.baseUrl The base URL of the server if other workers serve the port, otherwise null.
 */
export function forkWorker(facts: StartFacts): WorkerProcess {
  // Workers accept connections from one shared socket. With round-robin scheduling the primary accepts them, and loses those
  // that it is handing over to a worker that dies.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // Metrics may be infinite, and JSON has no infinity.
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
  let hasExited = false

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
    hasExited = true
    measuring?.resolve()
    exited.resolve(exit)
  }
  worker.once('exit', (code: number | null, signal: string | null) => end({ code, signal: signal || null, failure }))
  worker.on('error', (error: unknown) => {
    // Without a process there is no exit. Other errors are of the channel, which closes when the process exits.
    if (worker.process.pid === undefined) end({ code: null, signal: null, failure: failureOf(error) })
  })
  const send = (command: Command): void => {
    if (worker.isConnected()) worker.send(command)
  }
  send({ kind: 'start', ...facts })

  return {
    pid: worker.process.pid,
    ready: ready.promise,
    exited: exited.promise,
    get holdsPort() {
      return holdsPort
    },
    open: (port) => {
      holdsPort = true
      send({ kind: 'open', port })
    },
    get lastMetrics() {
      return metrics
    },
    get hasAnswered() {
      return hasAnswered
    },
    measure: async () => {
      if (hasExited) return
      if (measuring === undefined) {
        measuring = Promise.withResolvers()
        hasAnswered = false
        send({ kind: 'measure' })
      }
      await measuring.promise
    },
    stop: (drains) => send({ kind: 'stop', drains }),
    kill: () => void worker.process.kill('SIGKILL'),
  }
}

/** A process that could not be started, for want of memory for example. */
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
