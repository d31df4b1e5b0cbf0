/**
 * The primary process: it serves nothing but the metrics, and keeps workers that serve the rest (`worker.ts`).
 */
import { type Config, ConfigError } from '../config/config.ts'
import type { Log } from '../domain/ports.ts'
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

/** The longest time that a timer can have, in milliseconds. */
const FOR_EVER = 2 ** 31 - 1

export class Workers {
  readonly #config: Config
  readonly #log: Log
  readonly #metrics: WorkerMetrics
  readonly #slots: readonly WorkerSupervisor[]
  /** What workers are told to listen on. */
  #port: number
  /** What that is, if they are told to pick one. */
  #pickedPort: number | undefined
  /** Null until the first worker serves. */
  #baseUrl: string | null = null
  #keepAlive: NodeJS.Timeout | undefined
  /** The embedded database, which ends after the workers. */
  readonly #stack = new CleanupStack()
  #starting: Promise<string | null> = Promise.resolve(null)
  #socketFolder: string | null = null
  /** Resolves to what stops them. */
  #metricsServer = Promise.resolve(async () => {})
  #stopping: Promise<void> | undefined

  constructor(config: Config, log: Log) {
    this.#config = config
    this.#log = log
    this.#port = config.listen.port
    this.#slots = Array.from({ length: config.workers }, () => this.#createSlot())
    this.#metrics = new WorkerMetrics(this.#slots)
  }

  /**
   * Starts the first worker, and the others when it serves: it alone migrates the database and initialises the instance.
   *
   * @returns What the first worker says of the server, or undefined if `stop` came before that.
   * @throws {Error} why the first worker did not start, after everything is stopped.
   */
  async start(): Promise<ServerFacts | undefined> {
    if (this.#stopping !== undefined) return undefined
    // Between the end of a worker and its restart nothing else keeps the process alive.
    this.#keepAlive = setInterval(() => {}, FOR_EVER)
    try {
      return await this.#start()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Lets all workers finish what is in flight, ends those that hang, and resolves when the last is gone. */
  stop({ drains = false }: StopOptions = {}): Promise<void> {
    this.#stopping ??= this.#stop(drains ? this.#config.drainSeconds : 0)
    return this.#stopping
  }

  /** Ends all workers at once. */
  kill(): void {
    for (const slot of this.#slots) slot.kill()
  }

  async #start(): Promise<ServerFacts | undefined> {
    await checkConfigFiles(this.#config)
    if (this.#stopping !== undefined) return undefined
    this.#metricsServer = serveMetrics(this.#config.metricsListen, () => this.#metrics.text(), this.#log)
    await this.#metricsServer
    if (this.#stopping !== undefined) return undefined
    this.#starting = startEmbedded(this.#config, this.#log, this.#stack)
    this.#socketFolder = await this.#starting
    const [first, ...others] = this.#slots
    if (this.#stopping !== undefined || first === undefined) return undefined

    const outcome = await first.tryFirst()
    if (this.#stopping !== undefined) return undefined
    if (outcome.kind === 'ended') throw toError(outcome.exit)
    const { server } = outcome
    this.#baseUrl = server.baseUrl
    if (this.#port === 0) this.#pickedPort = Number(new URL(server.listenUrl).port)
    for (const slot of others) slot.run()
    return server
  }

  async #stop(drainSeconds: number): Promise<void> {
    await Promise.all(this.#slots.map((slot) => slot.stop(drainSeconds)))
    await this.#starting.catch(() => {})
    await this.#stack.disposeAsync()
    const stopMetrics = await this.#metricsServer
    await stopMetrics()
    clearInterval(this.#keepAlive)
  }

  #createSlot(): WorkerSupervisor {
    return new WorkerSupervisor({
      fork: () => this.#fork(),
      onEnd: (worker) => {
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
    return this.#slots.some(({ worker }) => worker?.holdsPort === true)
  }

  /** For those that wait until they can serve, which may be long, so that clients find somebody there meanwhile. */
  #openPort(): void {
    this.#keepPickedPort()
    for (const { worker } of this.#slots) worker?.open(this.#port)
  }

  /** The socket went with the last worker that had it, and picking again would give another port. */
  #keepPickedPort(): void {
    this.#port = this.#pickedPort ?? this.#port
  }
}

function toError({ code, signal, failure }: Exit): Error {
  if (failure === null) return new Error(`the first worker ended before it served: ${signal ?? `exit code ${code}`}`)
  return failure.problems === null ? new Error(failure.message) : new ConfigError(failure.problems)
}
