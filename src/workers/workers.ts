/**
 * The primary process: it serves the metrics, and supervises the workers that serve everything else (`worker.ts`).
 */
import { type Config, ConfigError } from '../config/config.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { CleanupStack } from '../server/cleanup-stack.ts'
import { checkConfigFiles } from '../server/config-files.ts'
import { startEmbedded } from '../server/database.ts'
import type { StopOptions } from '../server/server.ts'
import { systemClock } from '../server/system-clock.ts'
import { serveMetrics } from '../telemetry/metrics/metrics-server.ts'
import type { ServerFacts } from './protocol.ts'
import { WorkerMetrics } from './worker-metrics.ts'
import { type Exit, forkWorker, type WorkerProcess } from './worker-process.ts'
import { WorkerSupervisor } from './worker-supervisor.ts'

/** The longest interval of a timer, in milliseconds. */
const MAX_INTERVAL = 2 ** 31 - 1

export class Workers {
  readonly #config: Config
  readonly #log: Log
  readonly #metrics: WorkerMetrics
  readonly #supervisors: readonly WorkerSupervisor[]
  /** The port that workers listen on. */
  #port: number
  /** The port that the first worker picked, if the configured one is 0. */
  #pickedPort: number | undefined
  /** Null until the first worker is ready. */
  #baseUrl: string | null = null
  /** What ends after the workers. */
  readonly #stack = new CleanupStack()
  readonly #aborting = new AbortController()
  #starting: Promise<string | null> = Promise.resolve(null)
  #socketFolder: string | null = null
  #stopping: Promise<void> | undefined

  constructor(config: Config, log: Log) {
    this.#config = config
    this.#log = log
    this.#port = config.listen.port
    this.#supervisors = Array.from({ length: config.workers }, () => this.#createSupervisor())
    this.#metrics = new WorkerMetrics(this.#supervisors)
  }

  /**
   * Starts the first worker, and the others when it is ready: it alone migrates the database and initialises the instance.
   *
   * @returns The facts of the first worker, or undefined if `stop` was called before it was ready.
   * @throws {Error} why the first worker did not start, after everything is stopped.
   */
  async start(): Promise<ServerFacts | undefined> {
    if (this.#stopping !== undefined) return undefined
    // Between the exit of a worker and its restart nothing else keeps the process alive.
    const keepAlive = setInterval(() => {}, MAX_INTERVAL)
    this.#stack.defer(() => clearInterval(keepAlive))
    try {
      return await this.#start()
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
    this.#stopping ??= this.#stop(drains ? this.#config.drainSeconds : 0)
    return this.#stopping
  }

  /** Kills all workers. */
  kill(): void {
    for (const supervisor of this.#supervisors) supervisor.kill()
  }

  async #start(): Promise<ServerFacts | undefined> {
    await checkConfigFiles(this.#config)
    if (this.#stopping !== undefined) return undefined
    const metricsServer = serveMetrics(this.#config.metricsListen, () => this.#metrics.text(), this.#log)
    this.#stack.defer(() =>
      metricsServer.then(
        (stop) => stop(),
        () => {},
      ),
    )
    await metricsServer
    if (this.#stopping !== undefined) return undefined
    this.#starting = startEmbedded(this.#config, this.#log, { stack: this.#stack, signal: this.#aborting.signal })
    this.#socketFolder = await this.#starting
    const [first, ...others] = this.#supervisors
    if (this.#stopping !== undefined || first === undefined) return undefined

    const outcome = await first.tryFirst()
    if (this.#stopping !== undefined) return undefined
    if (outcome.kind === 'exited') throw toError(outcome.exit)
    const { server } = outcome
    this.#baseUrl = server.baseUrl
    if (this.#port === 0) this.#pickedPort = Number(new URL(server.listenUrl).port)
    for (const supervisor of others) supervisor.run()
    return server
  }

  async #stop(drainSeconds: number): Promise<void> {
    this.#aborting.abort()
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.stop(drainSeconds)))
    await this.#starting.catch(() => {})
    await this.#stack.disposeAsync()
  }

  #createSupervisor(): WorkerSupervisor {
    return new WorkerSupervisor({
      fork: () => this.#fork(),
      onExit: (worker) => {
        void this.#metrics.keep(worker)
        if (this.#stopping === undefined && !this.#isPortHeld()) this.#openPort()
      },
      clock: systemClock,
      log: this.#log,
    })
  }

  #fork(): WorkerProcess {
    const isAlone = !this.#isPortHeld()
    if (isAlone) this.#keepPickedPort()
    return forkWorker({
      port: this.#port,
      baseUrl: isAlone ? null : this.#baseUrl,
      socketFolder: this.#socketFolder,
    })
  }

  #isPortHeld(): boolean {
    return this.#supervisors.some(({ worker }) => worker?.holdsPort === true)
  }

  /** Lets the remaining workers, which are not ready, open the port, so that clients are not refused. */
  #openPort(): void {
    this.#keepPickedPort()
    for (const { worker } of this.#supervisors) worker?.open(this.#port)
  }

  /** Keeps the port: the shared socket was closed with the last worker that had it, and port 0 would pick another. */
  #keepPickedPort(): void {
    this.#port = this.#pickedPort ?? this.#port
  }
}

function toError({ code, signal, failure }: Exit): Error {
  if (failure === null) return new Error(`the first worker ended before it served: ${signal ?? `exit code ${code}`}`)
  return failure.problems === null ? new Error(failure.message) : new ConfigError(failure.problems)
}
