/**
 * Writes down who was refused, without ever standing in the way of the answer. Changes are written down by the stores.
 *
 * Refusals are queued and written one after the other. What one caller can cause is limited, and so is the queue: what
 * does not fit is dropped, counted and told to the operator. Nobody can fill the database or the memory with refusals.
 */
import type { AuditEntry, AuditEvent, AuditFilter } from '../domain/audit.ts'
import { LogThrottle } from '../domain/log-throttle.ts'
import type { AuditLog, Log, Page } from '../domain/ports.ts'
import { BoundedMap } from './bounded-map.ts'
import type { Clock } from './replica.ts'

/**
 * How many refusals of one actor are written down at once, by each process, and how many a second after that. All callers
 * who did not prove who they are count as one.
 */
const BURST = 200
const PER_SECOND = 1

/** How many actors are counted; the one that was refused longest ago is forgotten. */
const MAX_ACTORS = 1000

/** How many refusals may wait to be written. */
const MAX_WAITING = 1000

/** How often it is logged that refusals were dropped, in milliseconds. */
const TELL_EVERY = 60_000

/** The actor of a call whose caller did not prove who it is. */
export const ANONYMOUS = 'anonymous'

/** What the trail needs. */
export interface AuditTrailOptions {
  readonly events: AuditLog
  readonly clock: Clock
  readonly log: Log
}

interface Refusal {
  readonly entry: AuditEntry
  readonly outcome: string
}

export class AuditTrail {
  readonly #options: AuditTrailOptions
  readonly #waiting: Refusal[] = []
  readonly #throttle = new LogThrottle()
  #writing: Promise<void> | undefined
  readonly #allowances = new BoundedMap<string, { readonly left: number; readonly at: number }>(MAX_ACTORS)
  #dropped = 0
  #cancelTelling: (() => void) | undefined
  #stopped = false

  constructor(options: AuditTrailOptions) {
    this.#options = options
  }

  /** Newest first. @throws {DomainError} `storage_unavailable`. */
  list(
    filter: AuditFilter,
    page: Page<{ readonly at: Date; readonly eventId: string }>,
  ): Promise<readonly AuditEvent[]> {
    return this.#options.events.list(filter, page)
  }

  /** Writes down a refusal soon, if it can. Never throws. @param outcome The reason of the refusal. */
  refuse(entry: AuditEntry, outcome: string): void {
    if (this.#stopped || this.#waiting.length >= MAX_WAITING || !this.#admits(entry)) {
      this.#drop(1)
      return
    }
    this.#waiting.push({ entry, outcome })
    this.#writing ??= this.#write()
  }

  /** Writes what is waiting, unless the database cannot be reached, and takes nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#writing
    this.#cancelTelling?.()
    this.#tell()
  }

  async #write(): Promise<void> {
    // The caller goes on first.
    await Promise.resolve()
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        await this.#options.events.refuse(next.entry, next.outcome)
      } catch (error) {
        // The others would wait for the same database.
        const { clock, log } = this.#options
        if (this.#throttle.admits(String(error), clock.monotonic())) {
          log.warn({ err: error }, 'refused calls could not be written to the audit trail')
        }
        this.#drop(1 + this.#waiting.splice(0).length)
      }
    }
    this.#writing = undefined
  }

  #admits({ actor }: AuditEntry): boolean {
    const at = this.#options.clock.monotonic()
    const before = this.#allowances.get(actor) ?? { left: BURST, at }
    const left = Math.min(BURST, before.left + ((at - before.at) / 1000) * PER_SECOND)
    this.#allowances.set(actor, { left: left < 1 ? left : left - 1, at })
    return left >= 1
  }

  #drop(count: number): void {
    this.#dropped += count
    if (this.#stopped) return
    this.#cancelTelling ??= this.#options.clock.after(TELL_EVERY, () => {
      this.#cancelTelling = undefined
      this.#tell()
    })
  }

  #tell(): void {
    if (this.#dropped === 0) return
    this.#options.log.warn({ dropped: this.#dropped }, 'refused calls were not written to the audit trail')
    this.#dropped = 0
  }
}
