/**
 * What a run has started and must end, whatever becomes of it: a result, an error or Ctrl-C.
 */

/** Ends one thing. */
export type Ending = () => Promise<unknown>

/** How long all endings together may take before the rest is left to the last resort, in milliseconds. */
const PATIENCE_MILLIS = 30_000

export class Cleanup {
  readonly #endings: Ending[] = []
  #running: Promise<void> | undefined

  /** Ends this when the run ends, before what was added earlier. */
  add(ending: Ending): void {
    this.#endings.push(ending)
  }

  /** Runs a part that starts things of its own, and ends those afterwards. */
  async scope<T>(work: (cleanup: Cleanup) => Promise<T>): Promise<T> {
    const inner = new Cleanup()
    this.add(() => inner.run())
    try {
      return await work(inner)
    } finally {
      await inner.run()
    }
  }

  /** Ends everything, the newest first. What fails is told and holds nothing up. May be called twice. */
  run(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MILLIS
    for (let ending = this.#endings.pop(); ending !== undefined; ending = this.#endings.pop()) {
      if (performance.now() > deadline) return
      await ending().catch((error: unknown) => console.error('something did not end:', error))
    }
  }
}
