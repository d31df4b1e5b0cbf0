/**
 * The load generator as the process that measures sees it.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { endWithUs } from '../processes/program.ts'
import type { Outcome } from './generator-process.ts'
import type { Job, Measurement } from './job.ts'

/** How much longer than it should a job may take, in milliseconds. */
const PATIENCE_MILLIS = 30_000

export class LoadGenerator {
  readonly #process: ChildProcess

  constructor() {
    this.#process = fork(new URL('./generator-process.ts', import.meta.url), [], { execArgv: [] })
    endWithUs(this.#process)
  }

  /** Runs one job. One at a time. @throws {Error} if it cannot be run to its end in time. */
  async measure(job: Job): Promise<Measurement> {
    const patience = AbortSignal.timeout((job.warmUpSeconds + job.seconds) * 1000 + PATIENCE_MILLIS)
    const answered = once(this.#process, 'message', { signal: patience })
    this.#process.send(job)
    const [outcome] = (await answered) as [Outcome]
    if (outcome.kind === 'failed') throw new Error(`the load could not be made: ${outcome.why}`)
    return outcome.measurement
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    await exited
  }
}
