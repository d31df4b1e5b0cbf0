/**
 * Counts calls, and lets a test wait for them instead of for time to pass.
 */

/** How often something was called. */
export interface Counter {
  readonly count: number
  readonly hit: () => void
  /** Resolves when there have been that many calls since the beginning. */
  reached(count: number): Promise<void>
}

/** A counter at zero. */
export function createCounter(): Counter {
  let count = 0
  const waiting = new Map<number, () => void>()
  return {
    get count() {
      return count
    },
    hit: () => {
      count += 1
      waiting.get(count)?.()
    },
    reached: async (wanted) => {
      if (count < wanted) await new Promise<void>((resolve) => waiting.set(wanted, resolve))
    },
  }
}
