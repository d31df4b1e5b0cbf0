/**
 * Says that traces are lost, once in a while and not once for each batch.
 */
import type { Log } from '../../domain/ports.ts'

const SAY_EVERY = 5 * 60_000

export class QuietWarning {
  readonly #log: Log
  readonly #monotonic: () => number
  #saidAt = Number.NEGATIVE_INFINITY
  #lost = 0

  /** @param monotonic Milliseconds of a clock that never jumps. */
  constructor(log: Log, monotonic: () => number = () => performance.now()) {
    this.#log = log
    this.#monotonic = monotonic
  }

  /** A batch has been lost. */
  say({ reason, spans }: { readonly reason: string; readonly spans: number }): void {
    this.#lost += spans
    const now = this.#monotonic()
    if (now - this.#saidAt < SAY_EVERY) return
    this.#log.warn({ reason, spans: this.#lost }, 'traces could not be sent to the collector and are lost')
    this.#saidAt = now
    this.#lost = 0
  }
}
