/**
 * Polls the version of the instance: periodically, and at each hint of the change feed.
 */
import type { ChangeFeed } from '../../domain/ports/instance.ts'
import type { Clock } from '../../domain/time.ts'

/** How often versions are compared, in milliseconds. */
const COMPARE_EVERY = 1000

/** The least number of comparisons within the greatest staleness. */
const COMPARISONS_WHILE_FRESH = 3

/** What the poller is made of. */
export interface VersionPollerOptions {
  readonly feed: ChangeFeed
  readonly clock: Clock
  readonly maxStalenessSeconds: number
  /** Must not fail. */
  readonly compare: () => Promise<void>
}

export class VersionPoller {
  readonly #options: VersionPollerOptions
  #stopped = false
  #cancelTimer = () => {}
  #unsubscribe = async () => {}

  constructor(options: VersionPollerOptions) {
    this.#options = options
  }

  get isStopped(): boolean {
    return this.#stopped
  }

  start(): void {
    const { feed, compare } = this.#options
    this.#unsubscribe = feed.subscribe(() => void compare())
    this.#schedule()
  }

  /** Begins no more comparisons. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#unsubscribe()
  }

  #schedule(): void {
    if (this.#stopped) return
    const { clock, maxStalenessSeconds, compare } = this.#options
    const wait = Math.min(COMPARE_EVERY, (maxStalenessSeconds * 1000) / COMPARISONS_WHILE_FRESH)
    this.#cancelTimer = clock.after(wait, () => {
      void compare().then(() => this.#schedule())
    })
  }
}
