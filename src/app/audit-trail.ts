/**
 * Writes down who was refused, without ever standing in the way of the answer. Changes are written down by the stores.
 *
 * Refusals are queued and written one after the other. What strangers can cause is limited, and so is the queue: what
 * does not fit is dropped, counted and told to the operator. Nobody can fill the database or the memory with refusals.
 */
import type { AuditEntry, AuditEvent, AuditFilter } from '../domain/audit.ts'
import type { AuditLog, Log, Page } from '../domain/ports.ts'
import type { Clock } from './replica.ts'

/** How many refusals of callers who did not prove who they are are written down a second, by each process. */
const ANONYMOUS_PER_SECOND = 20

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
  #writing: Promise<void> | undefined
  #second = Number.NEGATIVE_INFINITY
  #anonymousThisSecond = 0
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
        this.#options.log.warn({ err: error }, 'refused calls could not be written to the audit trail')
        this.#drop(1 + this.#waiting.splice(0).length)
      }
    }
    this.#writing = undefined
  }

  #admits({ actor }: AuditEntry): boolean {
    if (actor !== ANONYMOUS) return true
    const second = Math.floor(this.#options.clock.monotonic() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#anonymousThisSecond = 0
    }
    this.#anonymousThisSecond += 1
    return this.#anonymousThisSecond <= ANONYMOUS_PER_SECOND
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
