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
import { stopLimit } from '../server/stop-limit.ts'
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

export function createWorkers(config: Config, log: Log) {
  const slots: readonly Slot[] = Array.from({ length: config.workers }, () => ({ isReady: false, failures: 0 }))
  const stack = new CleanupStack()
  const aborting = new AbortController()
  /** Workers that listen on the same one share it, also if it is 0. */
  let { port } = config.listen
  let restarts = 0
  let socketFolder: Promise<string | null> = Promise.resolve(null)
  /** Of the first worker, once it is ready. */
  let server: ServerFacts | undefined
  let stopping: Promise<void> | undefined
  // Workers accept connections from one shared socket. With round-robin scheduling the primary accepts them, and loses those
  // that it is handing over to a worker that dies.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // Metrics may be infinite, and JSON has no infinity.
  cluster.setupPrimary({ serialization: 'advanced' })

  const counts = (): WorkerCounts => {
    const running = slots.filter(({ isReady }) => isReady).length
    return { running, restarting: slots.length - running, restarts }
  }

  /** Starts a worker. @returns What it says when it is ready; never if it is replaced before. @throws {Error} why the first one did not start. */
  const run = async (slot: Slot): Promise<ServerFacts> => {
    const startedAt = performance.now()
    const { promise, resolve, reject } = Promise.withResolvers<ServerFacts>()
    const worker = cluster.fork()
    slot.worker = worker
    let reason: string | undefined
    const end = (code: number | null, signal: string | null): void => {
      slot.worker = undefined
      slot.isReady = false
      // Nothing replaces the first worker if it was never ready.
      if (server === undefined)
        reject(new Error(reason ?? `the first worker ended before it served: ${signal ?? `exit code ${code}`}`))
      else if (stopping === undefined) {
        slot.failures = performance.now() - startedAt >= LONG_RUN ? 1 : slot.failures + 1
        const restartInMillis = backoffMillis(slot.failures, RESTART)
        const facts = { pid: worker.process.pid, code, signal, reason, restartInMillis }
        log.error(facts, 'a worker ended and will be restarted')
        slot.replacing = setTimeout(() => {
          restarts += 1
          void run(slot)
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
    const serving = slots.some(({ isReady }) => isReady) ? server : undefined
    // The shared socket was closed with the last worker, and port 0 would pick another one.
    if (server !== undefined && serving === undefined) port = Number(new URL(server.listenUrl).port)
    worker.send({ kind: 'start', port, baseUrl: serving?.baseUrl, socketFolder: await socketFolder })
    return promise
  }

  const end = async ({ worker, replacing }: Slot, drains: boolean): Promise<void> => {
    clearTimeout(replacing)
    if (worker === undefined) return
    const exited = new Promise((resolve) => worker.once('exit', resolve))
    if (worker.isConnected()) worker.send({ kind: 'stop', drains })
    const timer = setTimeout(
      () => {
        log.error({ pid: worker.process.pid }, 'a worker did not stop in time and is ended')
        worker.process.kill('SIGKILL')
      },
      stopLimit(config.drainSeconds, drains),
    )
    await exited
    clearTimeout(timer)
  }

  const stopAll = async (drains: boolean): Promise<void> => {
    aborting.abort()
    await Promise.all(slots.map((slot) => end(slot, drains)))
    await socketFolder.catch(() => {})
    await stack.disposeAsync()
  }

  /** Shuts all workers down gracefully, kills those that hang, and resolves when the last has exited. */
  const stop = ({ drains = false }: StopOptions = {}): Promise<void> => {
    stopping ??= stopAll(drains)
    return stopping
  }

  return {
    stop,
    /**
     * Starts the first worker, and the others when it is ready: it alone migrates the database and initialises the instance.
     *
     * @returns The facts of the first worker, or undefined if `stop` was called before it was ready.
     * @throws {Error} why the first worker did not start, after everything is stopped.
     */
    start: async (): Promise<ServerFacts | undefined> => {
      const { signal } = aborting
      try {
        await checkConfigFiles(config)
        signal.throwIfAborted()
        stack.defer(await serveMetrics(config.metricsListen, createWorkerMetrics(counts), log))
        signal.throwIfAborted()
        socketFolder = startEmbedded(config, log, { stack, signal })
        await socketFolder
        const [first, ...others] = slots as [Slot, ...Slot[]]
        signal.throwIfAborted()
        server = await run(first)
        signal.throwIfAborted()
        for (const slot of others) void run(slot)
        return server
      } catch (error) {
        const wasStopped = stopping !== undefined
        await stop().catch((failure: unknown) => log.error({ err: failure }, 'the server did not stop cleanly'))
        if (wasStopped) return undefined
        throw error
      }
    },
    kill: (): void => {
      for (const { worker } of slots) worker?.process.kill('SIGKILL')
    },
  }
}
