/**
 * The warning that traces are lost, rate limited: once in five minutes, not once for each batch.
 */
import type { Log } from '../../domain/ports/runtime.ts'

const INTERVAL_MILLIS = 5 * 60_000

export class RateLimitedWarning {
  readonly #log: Log
  readonly #monotonic: () => number
  #warnedAt = Number.NEGATIVE_INFINITY
  #lost = 0

  /** @param monotonic Milliseconds of a clock that never jumps. */
  constructor(log: Log, monotonic: () => number = () => performance.now()) {
    this.#log = log
    this.#monotonic = monotonic
  }

  /** Counts the spans of a lost batch, and logs the sum if the last warning is old enough. */
  warn({ reason, spans }: { readonly reason: string; readonly spans: number }): void {
    this.#lost += spans
    const now = this.#monotonic()
    if (now - this.#warnedAt < INTERVAL_MILLIS) return
    this.#log.warn({ reason, spans: this.#lost }, 'traces could not be sent to the collector and are lost')
    this.#warnedAt = now
    this.#lost = 0
  }
}
