/**
 * Looks for credentials that expire soon, every few minutes and apart from requests: announces them in the audit trail, and counts them
 * for the metrics.
 *
 * Every replica does. The database makes each announcement once (`CredentialExpiries`).
 */
import type { CredentialCounts, CredentialExpiries } from '../../domain/ports/credential-expiries.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'

/** In milliseconds. */
const EVERY = 5 * 60 * 1000

/** What it needs. */
export interface CredentialWatchOptions {
  readonly expiries: CredentialExpiries
  /** Whether the database can be written to. */
  readonly isWritable: () => boolean
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
}

export class CredentialWatch {
  readonly #options: CredentialWatchOptions
  #counts: CredentialCounts | undefined
  #stopped = false
  #cancel = () => {}
  #running = Promise.resolve()

  constructor(options: CredentialWatchOptions) {
    this.#options = options
  }

  /** Of the last look; undefined if there was none yet, or it failed. */
  get counts(): CredentialCounts | undefined {
    return this.#counts
  }

  /** Looks now and every five minutes. */
  start(): void {
    this.#running = this.#look().then(() => {
      if (!this.#stopped) this.#cancel = this.#options.clock.after(EVERY, () => this.start())
    })
  }

  /** Ends after the look under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#running
  }

  async #look(): Promise<void> {
    const { expiries, isWritable, log } = this.#options
    try {
      while (isWritable() && !this.#stopped && !(await expiries.announce()).isComplete);
      this.#counts = await expiries.count()
    } catch (error) {
      this.#counts = undefined
      if (!this.#stopped) log.warn({ err: error }, 'credentials that expire could not be looked for')
    }
  }
}
