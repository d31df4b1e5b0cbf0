/**
 * Exports the audit trail: each event at least once, by one replica at a time.
 *
 * A batch that is refused is sent again, also if the receiver says that it will never take it: those behind it wait, and `behindSeconds` grows.
 *
 * The trail is the queue, and the database has the position in it, so an outage of the receiver or of the replica costs no event that the
 * trail keeps. Memory holds one batch. A replica that loses its lease while it exports has exported the batch twice.
 */
import type { AuditFilter } from '../../domain/audit.ts'
import { backoffMillis } from '../../domain/backoff.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { AuditBatch, AuditExports, ExportAuditEvents } from '../../domain/ports/audit.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import type { AuditFeed } from './audit-feed.ts'

/** How long a replica that is gone keeps the others waiting, in milliseconds. Longer than an attempt to export takes. */
const LEASE = 30_000

/** How often the lease is renewed, or tried to be taken, in milliseconds. */
const RENEW_EVERY = 10_000

const RETRY = { first: 500, longest: RENEW_EVERY }

const EVERYTHING: AuditFilter = { from: null, to: null, actor: null, resource: null }

/** What the exporter needs. */
export interface AuditExporterOptions {
  readonly feed: AuditFeed
  readonly exports: AuditExports
  readonly send: ExportAuditEvents
  /** Whether the database can be written to. */
  readonly isWritable: () => boolean
  /** Of this replica. */
  readonly holder: string
  readonly clock: Clock
  readonly now: () => Date
  readonly log: Log
}

export class AuditExporter {
  readonly #options: AuditExporterOptions
  readonly #stopping = new AbortController()
  readonly #throttle = new LogThrottle()
  #running = Promise.resolve()
  /** When the first event of the batch that is being sent happened. */
  #sendingFrom: Date | null = null

  constructor(options: AuditExporterOptions) {
    this.#options = options
  }

  /** The age of the oldest event that this replica is sending, in seconds; 0 if it sends none. */
  get behindSeconds(): number {
    if (this.#sendingFrom === null) return 0
    return Math.max(0, (this.#options.now().getTime() - this.#sendingFrom.getTime()) / 1000)
  }

  /** Exports until `stop`. */
  start(): void {
    this.#running = this.#run()
  }

  /** Ends after the attempt under way, and leaves the rest to another replica. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#options.exports.release(this.#options.holder).catch(() => {})
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#exportWithLease()
      } catch (error) {
        this.#warn(error, 'audit events cannot be exported now')
      }
      await this.#wait(RENEW_EVERY)
    }
  }

  async #exportWithLease(): Promise<void> {
    const { feed, exports, isWritable, holder } = this.#options
    const { signal } = this.#stopping
    if (!isWritable()) return
    const lease = await exports.acquire(holder, LEASE)
    if (lease === undefined) return
    // What was there before it was switched on is not exported.
    const after = lease.position ?? (await feed.latest())
    if (!(await exports.advance(holder, after, LEASE))) return
    for await (const batch of feed.follow({ after, filter: EVERYTHING, signal, idleMillis: RENEW_EVERY })) {
      this.#sendingFrom = batch.events[0]?.event.at ?? null
      try {
        if (!(await this.#export(batch))) return
      } finally {
        this.#sendingFrom = null
      }
    }
  }

  /** @returns False if the batch was not exported, because the server stops or the lease is lost. */
  async #export({ events, position }: AuditBatch): Promise<boolean> {
    const { exports, send, holder } = this.#options
    for (let failures = 0; events.length > 0; ) {
      if (this.#stopping.signal.aborted) return false
      if (await send(events.map(({ event }) => event))) break
      failures += 1
      await this.#wait(backoffMillis(failures, { ...RETRY, jitter: Math.random() / 2 }))
      if ((await exports.acquire(holder, LEASE)) === undefined) return false
    }
    return await exports.advance(holder, position, LEASE)
  }

  #wait(milliseconds: number): Promise<void> {
    const { signal } = this.#stopping
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const end = () => {
        cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const cancel = this.#options.clock.after(milliseconds, end)
      signal.addEventListener('abort', end)
    })
  }

  #warn(error: unknown, message: string): void {
    const { clock, log } = this.#options
    if (this.#throttle.admits(String(error), clock.monotonic())) log.warn({ err: error }, message)
  }
}
