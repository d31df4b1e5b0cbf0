/** Deletes audit events that are older than they have to be kept. Every replica does; deleting twice deletes nothing. */
import type { AuditLog } from '../../domain/ports/audit.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { repeat } from '../concurrency/repeat.ts'

const EVERY = 60 * 60 * 1000

const DAY = 24 * 60 * 60 * 1000

export interface AuditRetentionOptions {
  readonly events: Pick<AuditLog, 'deleteBefore'>
  readonly clock: Clock
  readonly isWritable: () => boolean
  readonly now: () => Date
  readonly log: Log
  readonly days: number
}

/** Deletes now and every hour, until the returned function is called; it waits for the deletion under way. */
export function startAuditRetention({ events, clock, isWritable, now, log, days }: AuditRetentionOptions) {
  return repeat(
    async (signal) => {
      if (!isWritable()) return
      const before = new Date(now().getTime() - days * DAY)
      try {
        let total = 0
        // In batches, because one deletion of everything could hold its locks for long.
        for (let deleted = -1; deleted !== 0 && !signal.aborted; total += deleted)
          deleted = await events.deleteBefore(before)
        if (total > 0) log.info({ deleted: total, before }, 'old audit events were deleted')
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'old audit events could not be deleted')
      }
    },
    { clock, everyMillis: EVERY, first: 'now' },
  )
}
