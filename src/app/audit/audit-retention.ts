/**
 * Deletes audit events that are older than they have to be kept. Every replica does; deleting twice deletes nothing.
 */
import type { AuditLog } from '../../domain/ports/audit.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'

/** How often old events are looked for, in milliseconds. */
const EVERY = 60 * 60 * 1000

const DAY = 24 * 60 * 60 * 1000

/** What retention needs. */
export interface AuditRetentionOptions {
  readonly events: Pick<AuditLog, 'deleteBefore'>
  readonly clock: Clock
  /** Whether the database can be written to. */
  readonly isWritable: () => boolean
  readonly now: () => Date
  readonly log: Log
  /** How long events are kept, in days. */
  readonly days: number
}

/** Deletes now and every hour, until the returned function is called; it waits for the deletion under way. */
export function startAuditRetention(options: AuditRetentionOptions): () => Promise<void> {
  const { clock } = options
  let stopped = false
  let cancel = () => {}
  let running = Promise.resolve()

  const run = () => {
    const deleted = options.isWritable() ? deleteOld(options, () => stopped) : Promise.resolve()
    running = deleted.then(() => {
      if (!stopped) cancel = clock.after(EVERY, run)
    })
  }
  run()
  return () => {
    stopped = true
    cancel()
    return running
  }
}

/** In batches, because one deletion of everything could hold its locks for long. */
async function deleteOld({ events, now, log, days }: AuditRetentionOptions, isStopped: () => boolean): Promise<void> {
  const before = new Date(now().getTime() - days * DAY)
  try {
    let total = 0
    for (let deleted = -1; deleted !== 0 && !isStopped(); total += deleted) {
      deleted = await events.deleteBefore(before)
    }
    if (total > 0) log.info({ deleted: total, before }, 'old audit events were deleted')
  } catch (error) {
    if (!isStopped()) log.warn({ err: error }, 'old audit events could not be deleted')
  }
}
