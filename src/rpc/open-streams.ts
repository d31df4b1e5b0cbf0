/**
 * How many streams of one kind may be open at the same time. Unlike other calls they stay, and anybody may open them.
 */
import { Code, ConnectError } from '@connectrpc/connect'

export class OpenStreams {
  readonly #max: number
  #open = 0

  constructor(max: number) {
    this.#max = max
  }

  /**
   * Counts a stream until its signal is aborted, which Connect does at the end of every call, however it ends.
   *
   * @throws {ConnectError} `resource_exhausted` if there are too many.
   */
  enter(signal: AbortSignal): void {
    if (this.#open >= this.#max) {
      throw new ConnectError(`there are ${this.#max} such streams already: try again later`, Code.ResourceExhausted)
    }
    if (signal.aborted) return
    this.#open += 1
    const leave = () => {
      this.#open -= 1
    }
    signal.addEventListener('abort', leave, { once: true })
  }
}
