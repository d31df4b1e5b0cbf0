/**
 * Waits for a condition of another process, for as long as that can take on a slow machine and not longer.
 */
import { setTimeout as delay } from 'node:timers/promises'

const DEADLINE_MILLIS = 90_000
const PAUSE_MILLIS = 25

/**
 * Tries until `attempt` does not throw, and returns what it returns.
 *
 * @throws {Error} what the last attempt threw, when the deadline has passed.
 */
export async function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + DEADLINE_MILLIS
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await delay(PAUSE_MILLIS)
    }
  }
}
