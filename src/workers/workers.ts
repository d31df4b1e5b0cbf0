/**
 * The primary process: it serves the metrics, and runs the workers that serve everything else (`worker.ts`).
 *
 * A worker that exits is replaced, with exponential backoff.
 */
import cluster, { type Worker } from 'node:cluster'
import type { Config } from '../config/config.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { backoffMillis } from '../domain/time.ts'
import { CleanupStack } from '../server/cleanup-stack.ts'
import { checkConfigFiles } from '../server/config-files.ts'
import { startEmbedded } from '../server/database.ts'
import type { StopOptions } from '../server/server.ts'
import { STOP_LIMIT } from '../server/stop-limit.ts'
import { serveMetrics } from '../telemetry/metrics/metrics-server.ts'
import { createWorkerMetrics, type WorkerCounts } from '../telemetry/metrics/worker-metrics.ts'
import type { Report, ServerFacts } from './worker.ts'

/** The backoff before a worker that exited is replaced, in milliseconds. */
const RESTART = { first: 100, longest: 30_000 }

/** After a run of so many milliseconds the backoff begins again. */
const LONG_RUN = 60_000

interface Slot {
  worker?: Worker | undefined
  isReady: boolean
  failures: number
  replacing?: NodeJS.Timeout
}

export class Workers {
  readonly #config: Config
  readonly #log: Log
  readonly #slots: readonly Slot[]
  /** Workers that listen on the same one share it, also if it is 0. */
  #port: number
  #restarts = 0
  readonly #stack = new CleanupStack()
  readonly #aborting = new AbortController()
  #socketFolder: Promise<string | null> = Promise.resolve(null)
  /** Of the first worker, once it is ready. */
  #server: ServerFacts | undefined
  #stopping: Promise<void> | undefined

  constructor(config: Config, log: Log) {
    this.#config = config
    this.#port = config.listen.port
    this.#log = log
    this.#slots = Array.from({ length: config.workers }, () => ({ isReady: false, failures: 0 }))
    // Workers accept connections from one shared socket. With round-robin scheduling the primary accepts them, and loses those
    // that it is handing over to a worker that dies.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    // Metrics may be infinite, and JSON has no infinity.
    cluster.setupPrimary({ serialization: 'advanced' })
  }

  /**
   * Starts the first worker, and the others when it is ready: it alone migrates the database and initialises the instance.
   *
   * @returns The facts of the first worker, or undefined if `stop` was called before it was ready.
   * @throws {Error} why the first worker did not start, after everything is stopped.
   */
  async start(): Promise<ServerFacts | undefined> {
    const { signal } = this.#aborting
    try {
      await checkConfigFiles(this.#config)
      signal.throwIfAborted()
      const metrics = createWorkerMetrics(() => this.#counts())
      this.#stack.defer(await serveMetrics(this.#config.metricsListen, metrics, this.#log))
      signal.throwIfAborted()
      this.#socketFolder = startEmbedded(this.#config, this.#log, { stack: this.#stack, signal })
      await this.#socketFolder
      const [first, ...others] = this.#slots as [Slot, ...Slot[]]
      signal.throwIfAborted()
      this.#server = await this.#run(first)
      signal.throwIfAborted()
      for (const slot of others) void this.#run(slot)
      return this.#server
    } catch (error) {
      const wasStopped = this.#stopping !== undefined
      await this.stop().catch((failure: unknown) => {
        this.#log.error({ err: failure }, 'the server did not stop cleanly')
      })
      if (wasStopped) return undefined
      throw error
    }
  }

  /** Shuts all workers down gracefully, kills those that hang, and resolves when the last has exited. */
  stop({ drains = false }: StopOptions = {}): Promise<void> {
    this.#stopping ??= this.#stop(drains)
    return this.#stopping
  }

  kill(): void {
    for (const { worker } of this.#slots) worker?.process.kill('SIGKILL')
  }

  async #stop(drains: boolean): Promise<void> {
    this.#aborting.abort()
    await Promise.all(this.#slots.map((slot) => this.#end(slot, drains)))
    await this.#socketFolder.catch(() => {})
    await this.#stack.disposeAsync()
  }

  async #end({ worker, replacing }: Slot, drains: boolean): Promise<void> {
    clearTimeout(replacing)
    if (worker === undefined) return
    const exited = new Promise((resolve) => worker.once('exit', resolve))
    if (worker.isConnected()) worker.send({ kind: 'stop', drains })
    const limit = (drains ? this.#config.drainSeconds * 1000 : 0) + STOP_LIMIT
    const timer = setTimeout(() => {
      this.#log.error({ pid: worker.process.pid }, 'a worker did not stop in time and is ended')
      worker.process.kill('SIGKILL')
    }, limit)
    await exited
    clearTimeout(timer)
  }

  /** Starts a worker. @returns What it says when it is ready; never if it is replaced before. @throws {Error} why the first one did not start. */
  async #run(slot: Slot): Promise<ServerFacts> {
    const startedAt = performance.now()
    const { promise, resolve, reject } = Promise.withResolvers<ServerFacts>()
    const worker = cluster.fork()
    slot.worker = worker
    let reason: string | undefined
    const end = (code: number | null, signal: string | null): void => {
      slot.worker = undefined
      slot.isReady = false
      // Nothing replaces the first worker if it was never ready.
      if (this.#server === undefined)
        reject(new Error(reason ?? `the first worker ended before it served: ${signal ?? `exit code ${code}`}`))
      else if (this.#stopping === undefined) {
        slot.failures = performance.now() - startedAt >= LONG_RUN ? 1 : slot.failures + 1
        const restartInMillis = backoffMillis(slot.failures, RESTART)
        const facts = { pid: worker.process.pid, code, signal, reason, restartInMillis }
        this.#log.error(facts, 'a worker ended and will be restarted')
        slot.replacing = setTimeout(() => {
          this.#restarts += 1
          void this.#run(slot)
        }, restartInMillis)
      }
    }
    worker.once('exit', (code: number | null, signal: string | null) => end(code, signal || null))
    worker.on('error', (error) => {
      // Without a process there is no exit. Other errors are of the channel, which closes when the process exits.
      if (worker.process.pid !== undefined) return
      reason = `no process could be started: ${error.message}`
      end(null, null)
    })
    worker.on('message', (report: Report) => {
      if (report.kind === 'failed') reason = report.reason
      if (report.kind !== 'ready') return
      slot.isReady = true
      resolve(report.server)
    })
    // A worker opens the port when it is ready, because it would refuse requests before, unless no other one serves it.
    const serving = this.#slots.some(({ isReady }) => isReady) ? this.#server : undefined
    // The shared socket was closed with the last worker, and port 0 would pick another one.
    if (this.#server !== undefined && serving === undefined) this.#port = Number(new URL(this.#server.listenUrl).port)
    const socketFolder = await this.#socketFolder
    worker.send({ kind: 'start', port: this.#port, baseUrl: serving?.baseUrl, socketFolder })
    return promise
  }

  #counts(): WorkerCounts {
    const running = this.#slots.filter(({ isReady }) => isReady).length
    return { running, restarting: this.#slots.length - running, restarts: this.#restarts }
  }
}
