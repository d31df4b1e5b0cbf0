/**
 * Writes refusals to the audit trail, asynchronously. The stores write changes, in the transaction of the change.
 *
 * Refusals are queued and written one after the other, as they came. Each kind of caller has its own rate limits (`refusal-limits.ts`) and its own
 * room in the queue: one kind can delay another by what fits there, but not displace it. A refusal that exceeds them, or cannot be written, is
 * dropped and counted. At most once a minute, the count of each kind becomes an event.
 */
import type { AuditEntry, AuditEvent, AuditFilter, Omission } from '../../domain/audit.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { AuditLog } from '../../domain/ports/audit.ts'
import type { Page } from '../../domain/ports/identities.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { networkOf } from '../access/rate-limits.ts'
import { kindOf, type RefusalKind, RefusalLimits } from './refusal-limits.ts'

const MAX_WAITING = 1000

/** How often the count of dropped refusals is logged and becomes an event, in milliseconds. */
const REPORT_EVERY = 60_000

const OMITTED = 'OMITTED'

/** How many sources of dropped refusals are counted separately, of a kind. Refusals of other sources count in the total only. */
const MAX_SOURCES = 1000

export interface AuditTrailOptions {
  readonly events: AuditLog
  readonly clock: Clock
  readonly now: () => Date
  readonly log: Log
}

interface Refusal {
  readonly entry: AuditEntry
  readonly outcome: string
  readonly omission?: Omission
}

/** One kind of caller: how many refusals wait to be written, and those that were dropped. */
interface Lane {
  waiting: number
  dropped: { count: number; since: Date; readonly sources: Map<string, number> } | undefined
}

export class AuditTrail {
  readonly #options: AuditTrailOptions
  readonly #limits: RefusalLimits
  readonly #lanes = new Map<RefusalKind, Lane>()
  readonly #throttle = new LogThrottle()
  #writing = Promise.resolve()
  #cancelReport: (() => void) | undefined
  #stopped = false

  constructor(options: AuditTrailOptions) {
    this.#options = options
    this.#limits = new RefusalLimits(options.clock)
  }

  list(
    filter: AuditFilter,
    page: Page<{ readonly at: Date; readonly eventId: string }>,
  ): Promise<readonly AuditEvent[]> {
    return this.#options.events.list(filter, page)
  }

  /**
   * Queues a refusal to be written. Never throws.
   * @param entry Of an anonymous caller: with a resource if it tried to be a user that exists, and then only.
   * @param outcome The reason of the refusal.
   */
  refuse(entry: AuditEntry, outcome: string): void {
    const lane = this.#laneOf(kindOf(entry))
    const isFull = lane.waiting >= MAX_WAITING
    if (this.#stopped || isFull || !this.#limits.admits(entry)) this.#drop(lane, { entry, outcome })
    else this.#enqueue(lane, { entry, outcome })
  }

  /** Writes what is waiting, unless the database cannot be reached, and takes nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelReport?.()
    this.#reportDropped()
    await this.#writing
  }

  #laneOf(kind: RefusalKind): Lane {
    const lane = this.#lanes.get(kind) ?? { waiting: 0, dropped: undefined }
    this.#lanes.set(kind, lane)
    return lane
  }

  #enqueue(lane: Lane, refusal: Refusal): void {
    lane.waiting += 1
    this.#writing = this.#writing.then(() => this.#write(lane, refusal))
  }

  async #write(lane: Lane, refusal: Refusal): Promise<void> {
    const { events, clock, log } = this.#options
    lane.waiting -= 1
    try {
      await events.refuse(refusal.entry, refusal.outcome, refusal.omission)
    } catch (error) {
      if (this.#throttle.admits(String(error), clock.monotonic()))
        log.warn({ err: error }, 'refused calls could not be written to the audit trail')
      this.#drop(lane, refusal)
    }
  }

  #drop(lane: Lane, { entry, omission }: Refusal): void {
    const { count, since } = omission ?? { count: 1, since: this.#options.now() }
    lane.dropped ??= { count: 0, since, sources: new Map() }
    lane.dropped.count += count
    if (since < lane.dropped.since) lane.dropped.since = since
    const { sources } = lane.dropped
    const source = JSON.stringify(sourceOf(entry))
    if (sources.has(source) || sources.size < MAX_SOURCES) sources.set(source, (sources.get(source) ?? 0) + count)
    if (this.#stopped) return
    this.#cancelReport ??= this.#options.clock.after(REPORT_EVERY, () => {
      this.#cancelReport = undefined
      this.#reportDropped()
    })
  }

  /** Logs the counts of dropped refusals, and queues an event for each with the source of most, whatever the limit of the queue. */
  #reportDropped(): void {
    for (const [kind, lane] of this.#lanes) {
      if (lane.dropped === undefined) continue
      const { count, since, sources } = lane.dropped
      lane.dropped = undefined
      this.#options.log.warn({ kind, dropped: count }, 'refused calls were not written to the audit trail')
      const [most = '{}'] = [...sources].sort(([, a], [, b]) => b - a)[0] ?? []
      const entry = { actor: '', resource: '', ...JSON.parse(most), action: 'audit/omitted', requestId: '' }
      this.#enqueue(lane, { entry, outcome: OMITTED, omission: { count, since } })
    }
  }
}

function sourceOf(entry: AuditEntry): Pick<AuditEntry, 'actor' | 'resource' | 'clientAddress'> {
  const { actor, resource, clientAddress = '' } = entry
  const network = networkOf(clientAddress)
  return {
    actor,
    resource: kindOf(entry) === 'claimed_user' ? resource : '',
    clientAddress: network.includes(':') ? `${network}::/64` : network,
  }
}
