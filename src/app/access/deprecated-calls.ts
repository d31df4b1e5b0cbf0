/**
 * Counts the calls of deprecated services by caller, so that an operator sees who still makes them.
 */
import type { Log } from '../../domain/ports.ts'

/** How many pairs of caller and method are counted separately. All other calls are counted together. */
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
    const isNew = !this.#counts.has(keyOf(method, caller))
    if (isNew && this.#counts.size >= MAX_COUNTED) {
      this.#count(method, OTHERS)
      return
    }
    if (isNew) {
      this.#log.warn({ method, caller }, 'a deprecated method was called: see docs/migration-v2beta-to-v2.md')
    }
    this.#count(method, caller)
  }

  /** Every count, for the metrics. */
  counts(): Iterable<CallCount> {
    return this.#counts.values()
  }

  #count(method: string, caller: string): void {
    const calls = 1 + (this.#counts.get(keyOf(method, caller))?.calls ?? 0)
    this.#counts.set(keyOf(method, caller), { method, caller, calls })
  }
}

function keyOf(method: string, caller: string): string {
  return `${method} ${caller}`
}
