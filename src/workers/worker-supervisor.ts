/**
 * Supervises one worker: restarts it when it exits, with exponential backoff.
 */

import { backoffMillis } from '../domain/backoff.ts'
import type { Log } from '../domain/ports/runtime.ts'
import type { Clock } from '../domain/time.ts'
import { STOP_LIMIT } from '../server/stop-limit.ts'
import type { ServerFacts } from './protocol.ts'
import type { Exit, WorkerProcess } from './worker-process.ts'

/** The backoff before a worker that died is started again. */
const RESTART = { first: 100, longest: 30_000 }

/** After a run of so many milliseconds the backoff begins again. */
const LONG_RUN = 60_000

/** What supervision needs. */
export interface WorkerSupervisorOptions {
  readonly fork: () => WorkerProcess
  /** Called once per exit, after the last message of the process. */
  readonly onExit: (worker: WorkerProcess) => void
  readonly clock: Clock
  readonly log: Log
}

/** The outcome of the first process. */
export type FirstOutcome =
  | { readonly kind: 'serves'; readonly server: ServerFacts }
  | { readonly kind: 'exited'; readonly exit: Exit }

export class WorkerSupervisor {
  readonly #options: WorkerSupervisorOptions
  #worker: WorkerProcess | undefined
  #ready = false
  #failures = 0
  #restarts = 0
  #stopping = false
  #cancelRestart = () => {}

  constructor(options: WorkerSupervisorOptions) {
    this.#options = options
  }

  /** The current process, if there is one. */
  get worker(): WorkerProcess | undefined {
    return this.#worker
  }

  /** Whether the current process is ready. */
  get ready(): boolean {
    return this.#ready
  }

  /** The number of restarts. */
  get restarts(): number {
    return this.#restarts
  }

  /** Starts a process, and supervises it once it is ready. It is not restarted if it exits before. */
  async tryFirst(): Promise<FirstOutcome> {
    const worker = this.#options.fork()
    this.#worker = worker
    const outcome = await Promise.race([
      worker.ready.then((server) => ({ kind: 'serves', server }) as const),
      worker.exited.then((exit) => ({ kind: 'exited', exit }) as const),
    ])
    if (outcome.kind === 'serves') this.run(worker)
    return outcome
  }

  /** Starts a process, or takes one that was just started, and restarts it when it exits. */
  run(worker: WorkerProcess = this.#options.fork()): void {
    const { clock, onExit } = this.#options
    const startedAt = clock.monotonic()
    this.#worker = worker
    void worker.ready.then(() => {
      this.#ready = this.#worker === worker
    })
    void worker.exited.then((exit) => {
      this.#worker = undefined
      this.#ready = false
      onExit(worker)
      if (!this.#stopping) this.#restart(worker, exit, clock.monotonic() - startedAt)
    })
  }

  /**
   * Shuts the process down gracefully, and kills it if it hangs.
   *
   * @param drainSeconds For how long it drains first.
   */
  async stop(drainSeconds: number): Promise<void> {
    this.#stopping = true
    this.#cancelRestart()
    const worker = this.#worker
    if (worker === undefined) return
    worker.stop(drainSeconds > 0)
    const cancel = this.#options.clock.after(drainSeconds * 1000 + STOP_LIMIT, () => {
      this.#options.log.error({ pid: worker.pid }, 'a worker did not stop in time and is ended')
      worker.kill()
    })
    await worker.exited
    cancel()
  }

  /** Kills the process and restarts none. */
  kill(): void {
    this.#stopping = true
    this.#cancelRestart()
    this.#worker?.kill()
  }

  #restart({ pid }: WorkerProcess, { code, signal, failure }: Exit, ranFor: number): void {
    const { clock, log } = this.#options
    this.#failures = ranFor >= LONG_RUN ? 1 : this.#failures + 1
    const backoff = backoffMillis(this.#failures, RESTART)
    const facts = {
      pid,
      code,
      signal,
      ...(failure === null ? {} : { reason: failure.message }),
      restartInMillis: backoff,
    }
    log.error(facts, 'a worker ended and will be restarted')
    this.#cancelRestart = clock.after(backoff, () => {
      this.#restarts += 1
      this.run()
    })
  }
}
