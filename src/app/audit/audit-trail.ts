/**
 * Writes refusals to the audit trail, asynchronously. The stores write changes, in the transaction of the change.
 *
 * Refusals are queued and written one after the other. Each kind of caller has its own rate limits and its own queue, so that no
 * kind can hide another (`refusal-limits.ts`). A refusal that exceeds them, or cannot be written, is dropped and counted. At
 * most once a minute, the count of each kind becomes an event.
 */
import type { AuditEntry, AuditEvent, AuditFilter, Omission } from '../../domain/audit.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { AuditLog } from '../../domain/ports/audit.ts'
import type { Page } from '../../domain/ports/page.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { OmissionCounter } from './omission-counter.ts'
import { kindOf, REFUSAL_KINDS, type RefusalKind, RefusalLimits } from './refusal-limits.ts'

/** How many refusals of a kind may wait to be written. */
const MAX_WAITING = 1000

/** How often the count of dropped refusals is logged and becomes an event, in milliseconds. */
const REPORT_EVERY = 60_000

/** The outcome of an event that stands for dropped refusals. */
const OMITTED = 'OMITTED'

/** What the trail needs. */
export interface AuditTrailOptions {
  readonly events: AuditLog
  readonly clock: Clock
  /** The time of the instance. */
  readonly now: () => Date
  readonly log: Log
}

interface Refusal {
  readonly entry: AuditEntry
  readonly outcome: string
  /** Given if it stands for dropped refusals. */
  readonly omission?: Omission
}

/** The queue and the counter of one kind of caller. */
interface Lane {
  readonly waiting: Refusal[]
  readonly omissions: OmissionCounter
}

export class AuditTrail {
  readonly #options: AuditTrailOptions
  readonly #limits: RefusalLimits
  readonly #lanes: Readonly<Record<RefusalKind, Lane>>
  /** The index of the kind whose turn it is. */
  #turn = 0
  readonly #throttle = new LogThrottle()
  #writing: Promise<void> | undefined
  #cancelReport: (() => void) | undefined
  #stopped = false

  constructor(options: AuditTrailOptions) {
    this.#options = options
    this.#limits = new RefusalLimits(options.clock)
    const lane = (): Lane => ({ waiting: [], omissions: new OmissionCounter() })
    this.#lanes = { caller: lane(), claimed_user: lane(), anonymous: lane() }
  }

  /** Newest first. @throws {DomainError} `storage_unavailable`. */
  list(
    filter: AuditFilter,
    page: Page<{ readonly at: Date; readonly eventId: string }>,
  ): Promise<readonly AuditEvent[]> {
    return this.#options.events.list(filter, page)
  }

  /**
   * Queues a refusal to be written. Never throws.
   *
   * @param entry Of an anonymous caller: with a resource if it tried to be a user that exists, and then only.
   * @param outcome The reason of the refusal.
   */
  refuse(entry: AuditEntry, outcome: string): void {
    const kind = kindOf(entry)
    const isFull = this.#lanes[kind].waiting.length >= MAX_WAITING
    if (this.#stopped || isFull || !this.#limits.admits(entry)) this.#omit(kind, { entry, outcome })
    else this.#enqueue(kind, { entry, outcome })
  }

  /** Writes what is waiting, unless the database cannot be reached, and takes nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelReport?.()
    this.#reportOmissions()
    await this.#writing
  }

  #enqueue(kind: RefusalKind, refusal: Refusal): void {
    this.#lanes[kind].waiting.push(refusal)
    this.#writing ??= this.#write()
  }

  async #write(): Promise<void> {
    // The caller answers first.
    await Promise.resolve()
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { kind, refusal } = next
      try {
        await this.#options.events.refuse(refusal.entry, refusal.outcome, refusal.omission)
      } catch (error) {
        const { clock, log } = this.#options
        if (this.#throttle.admits(String(error), clock.monotonic())) {
          log.warn({ err: error }, 'refused calls could not be written to the audit trail')
        }
        this.#omit(kind, refusal)
        // The others would wait for the same database.
        for (const kind of REFUSAL_KINDS) {
          for (const refusal of this.#lanes[kind].waiting.splice(0)) this.#omit(kind, refusal)
        }
      }
    }
    this.#writing = undefined
  }

  /** One of each kind in turn. */
  #next(): { readonly kind: RefusalKind; readonly refusal: Refusal } | undefined {
    for (let tried = 0; tried < REFUSAL_KINDS.length; tried += 1) {
      const kind = REFUSAL_KINDS[this.#turn % REFUSAL_KINDS.length] as RefusalKind
      this.#turn += 1
      const refusal = this.#lanes[kind].waiting.shift()
      if (refusal !== undefined) return { kind, refusal }
    }
    return undefined
  }

  #omit(kind: RefusalKind, { entry, omission = { count: 1, since: this.#options.now() } }: Refusal): void {
    this.#lanes[kind].omissions.add(entry, omission)
    if (this.#stopped) return
    this.#cancelReport ??= this.#options.clock.after(REPORT_EVERY, () => {
      this.#cancelReport = undefined
      this.#reportOmissions()
    })
  }

  /** Logs the counts of dropped refusals, and queues an event for each, whatever the limit of the queue. */
  #reportOmissions(): void {
    for (const kind of REFUSAL_KINDS) {
      const omitted = this.#lanes[kind].omissions.drain()
      if (omitted === undefined) continue
      const { entry, omission } = omitted
      this.#options.log.warn({ kind, dropped: omission.count }, 'refused calls were not written to the audit trail')
      this.#enqueue(kind, { entry, outcome: OMITTED, omission })
    }
  }
}
