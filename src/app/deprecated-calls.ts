/**
 * Counts the calls of deprecated services by caller, so that an operator sees who still makes them.
 */
import type { Log } from '../domain/ports.ts'

/** How many pairs of caller and method are counted apart; the calls of others are counted together. */
const MAX_COUNTED = 1000

const OTHERS = 'others'

/** A caller and how often it has called a method since the start. */
export interface CallCount {
  readonly method: string
  /** A user id, or `others`. */
  readonly caller: string
  readonly calls: number
}

export class DeprecatedCalls {
  readonly #log: Log
  readonly #counts = new Map<string, CallCount>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Counts a call. The first one of a caller is logged. @param method Service and method. */
  note(method: string, caller: string): void {
    const known = this.#counts.get(keyOf(method, caller))
    if (known !== undefined) return this.#set({ ...known, calls: known.calls + 1 })
    if (this.#counts.size >= MAX_COUNTED) {
      const others = this.#counts.get(keyOf(method, OTHERS)) ?? { method, caller: OTHERS, calls: 0 }
      return this.#set({ ...others, calls: others.calls + 1 })
    }
    this.#log.warn({ method, caller }, 'a deprecated method was called: see docs/migration-v2beta-to-v2.md')
    this.#set({ method, caller, calls: 1 })
  }

  /** Every count, for the metrics. */
  counts(): Iterable<CallCount> {
    return this.#counts.values()
  }

  #set(count: CallCount): void {
    this.#counts.set(keyOf(count.method, count.caller), count)
  }
}

function keyOf(method: string, caller: string): string {
  return `${method} ${caller}`
}
