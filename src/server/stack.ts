/**
 * What has to be undone, in the reverse order of how it was done.
 */
export class Stack {
  readonly #steps: (() => Promise<void>)[] = []
  #unwinding: Promise<void> | undefined

  push(undo: () => Promise<void>): void {
    this.#steps.push(undo)
  }

  /** Undoes everything, also what comes after a step that fails; the first failure is passed on at the end. */
  unwind(): Promise<void> {
    this.#unwinding ??= this.#run()
    return this.#unwinding
  }

  async #run(): Promise<void> {
    const failures: unknown[] = []
    for (const undo of this.#steps.reverse()) {
      try {
        await undo()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
