/**
 * The place of one worker: whoever dies in it is replaced, later and later if that happens again and again.
 */

import { backoffMillis } from '../domain/backoff.ts'
import type { Log } from '../domain/ports.ts'
import type { Clock } from '../domain/time.ts'
import { STOP_LIMIT } from '../server/stop-limit.ts'
import type { ServerFacts } from './protocol.ts'
import type { Exit, WorkerProcess } from './worker-process.ts'

/** The backoff before a worker that died is started again. */
const RESTART = { first: 100, longest: 30_000 }

/** The backoff begins anew after a worker that ran for so long, in milliseconds. */
const LONG_RUN = 60_000

/** What a place for a worker needs. */
export interface WorkerSupervisorOptions {
  readonly fork: () => WorkerProcess
  /** Hears of each process that ended, after its last word. */
  readonly onEnd: (worker: WorkerProcess) => void
  readonly clock: Clock
  readonly log: Log
}

/** What became of the first process. */
export type FirstOutcome =
  | { readonly kind: 'serves'; readonly server: ServerFacts }
  | { readonly kind: 'ended'; readonly exit: Exit }

export class WorkerSupervisor {
  readonly #options: WorkerSupervisorOptions
  #worker: WorkerProcess | undefined
  #ready = false
  #deaths = 0
  #restarts = 0
  #stopping = false
  #cancelRestart = () => {}

  constructor(options: WorkerSupervisorOptions) {
    this.#options = options
  }

  /** The process in this place, if there is one now. */
  get worker(): WorkerProcess | undefined {
    return this.#worker
  }

  /** Whether the process in this place serves. */
  get ready(): boolean {
    return this.#ready
  }

  /** How often a process was started to replace another. */
  get restarts(): number {
    return this.#restarts
  }

  /** Starts a process that is not replaced if it ends before it serves, and resolves when either has happened. */
  async tryFirst(): Promise<FirstOutcome> {
    const worker = this.#options.fork()
    this.#worker = worker
    const outcome = await Promise.race([
      worker.ready.then((server) => ({ kind: 'serves', server }) as const),
      worker.exited.then((exit) => ({ kind: 'ended', exit }) as const),
    ])
    if (outcome.kind === 'serves') this.run(worker)
    return outcome
  }

  /** Starts a process, or takes one that was just started, and replaces it whenever it ends. */
  run(worker: WorkerProcess = this.#options.fork()): void {
    const { clock, onEnd } = this.#options
    const startedAt = clock.monotonic()
    this.#worker = worker
    void worker.ready.then(() => {
      this.#ready = this.#worker === worker
    })
    void worker.exited.then((exit) => {
      this.#worker = undefined
      this.#ready = false
      onEnd(worker)
      if (!this.#stopping) this.#replace(worker, exit, clock.monotonic() - startedAt)
    })
  }

  /**
   * Lets the process finish what is in flight; if it hangs, ends it.
   *
   * @param drainSeconds For how long it serves on before that.
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

  /** Ends the process at once and starts no other. */
  kill(): void {
    this.#stopping = true
    this.#cancelRestart()
    this.#worker?.kill()
  }

  #replace({ pid }: WorkerProcess, { code, signal, failure }: Exit, ranFor: number): void {
    const { clock, log } = this.#options
    this.#deaths = ranFor >= LONG_RUN ? 1 : this.#deaths + 1
    const wait = backoffMillis(this.#deaths, RESTART)
    const facts = { pid, code, signal, ...(failure === null ? {} : { reason: failure.message }), restartInMillis: wait }
    log.error(facts, 'a worker ended and will be restarted')
    this.#cancelRestart = clock.after(wait, () => {
      this.#restarts += 1
      this.run()
    })
  }
}
