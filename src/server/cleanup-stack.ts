/**
 * Releases what was acquired, in the reverse order.
 *
 * It has the methods of `AsyncDisposableStack`, which Node.js 22 lacks.
 */
import { messageOf } from '../domain/errors.ts'

export class CleanupStack {
  readonly #callbacks: (() => Promise<void> | void)[] = []
  #disposing: Promise<void> | undefined

  defer(callback: () => Promise<void> | void): void {
    this.#callbacks.push(callback)
  }

  /**
   * Runs all callbacks, also those after one that fails. A repeated call returns the same promise.
   * @throws {Error} the failure of a callback; `AggregateError` with all of them if several failed.
   */
  disposeAsync(): Promise<void> {
    this.#disposing ??= this.#dispose()
    return this.#disposing
  }

  async #dispose(): Promise<void> {
    const failures: unknown[] = []
    for (const callback of this.#callbacks.reverse()) {
      try {
        await callback()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length === 1) throw failures[0]
    if (failures.length > 1) {
      throw new AggregateError(failures, failures.map(messageOf).join('; '))
    }
  }
}

/**
 * Runs `use` with a stack that is disposed of afterwards.
 * @throws {Error} what `use` throws; `AggregateError` with its message if the cleanup fails as well.
 */
export async function withCleanup<T>(use: (stack: CleanupStack) => Promise<T>): Promise<T> {
  const stack = new CleanupStack()
  const [outcome] = await Promise.allSettled([use(stack)])
  const [cleanup] = await Promise.allSettled([stack.disposeAsync()])
  if (cleanup.status === 'fulfilled') {
    if (outcome.status === 'fulfilled') return outcome.value
    throw outcome.reason
  }
  if (outcome.status === 'fulfilled') throw cleanup.reason
  throw new AggregateError([outcome.reason, cleanup.reason], messageOf(outcome.reason))
}
