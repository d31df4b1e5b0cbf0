/**
 * Time and randomness for the client libraries: time passes when a test or a wait says so.
 */
import type { Runtime } from '../../packages/verify/src/discovery.ts'

export class ManualRuntime implements Runtime {
  /** The length of each wait so far, in milliseconds. */
  readonly waits: number[] = []
  #now = Date.now()
  /** What `random` returns. */
  share = 0

  now(): number {
    return this.#now
  }

  random(): number {
    return this.share
  }

  async wait(milliseconds: number): Promise<void> {
    this.waits.push(milliseconds)
    this.advance(milliseconds)
  }

  /** Moves on, or back. */
  advance(milliseconds: number): void {
    this.#now += milliseconds
  }
}
