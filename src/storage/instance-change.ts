/**
 * How every administrative change is made: one transaction that takes the lock, reads, lets the domain decide, writes
 * the difference, the audit event and the new version, or nothing at all.
 *
 * The server ends a transaction whose client falls silent, and each wait for the lock is short; a change that waited in
 * vain tries again (`postgres-pool.ts` has the limits).
 *
 * What is read and written is the matter of the stores. They have no rules of their own: what must hold whoever writes
 * is a constraint of the schema.
 */
import type { Transaction } from 'kysely'
import type { AuditEntry } from '../domain/audit.ts'
import { insertAuditEvent } from './audit-event-row.ts'
import type { Database } from './database.ts'
import { bumpVersion, lockInstance, readClock } from './instance-row.ts'
import { usingStorageRepeatedly } from './storage-errors.ts'
import type { Tables } from './tables.ts'

/** What a change is about. */
export interface ChangeTarget<Before, Decision> {
  read(trx: Transaction<Tables>): Promise<Before>
  /** Dates that time must not go back behind. */
  datesOf(before: Before): readonly Date[]
  /** Pure. Nothing is written if it throws. */
  decide(before: Before, now: Date): Decision
  /** What the audit event names, if the decision knows it better than who asked for it. */
  resourceOf?(decision: Decision): string | undefined
  /** Writes what differs, and says whether anything did. If it throws, everything is undone. */
  write(trx: Transaction<Tables>, before: Before, decision: Decision): Promise<boolean>
}

/** Either what `decide` returned or what it threw. A value, so that no error of it is taken for one of the database. */
type Outcome<Decision> =
  | { readonly kind: 'decided'; readonly decision: Decision; readonly changed: boolean }
  | { readonly kind: 'refused'; readonly error: unknown }

/** Makes a change and returns the decision. `entry` becomes an audit event if anything changed. */
export async function changeInstance<Before, Decision>(
  database: Database,
  entry: AuditEntry,
  target: ChangeTarget<Before, Decision>,
): Promise<Decision> {
  const { changes, lockWaitMillis } = database
  const change = () =>
    changes
      .transaction()
      .setIsolationLevel('read committed')
      .execute(async (trx) => {
        const outcome = await changeUnderLock(trx, entry, target)
        if (outcome.kind === 'decided' && outcome.changed) await bumpVersion(trx, database)
        return outcome
      })
  const outcome = await usingStorageRepeatedly(change, { lockWaitMillis })
  if (outcome.kind === 'refused') throw outcome.error
  return outcome.decision
}

async function changeUnderLock<Before, Decision>(
  trx: Transaction<Tables>,
  entry: AuditEntry,
  target: ChangeTarget<Before, Decision>,
): Promise<Outcome<Decision>> {
  await lockInstance(trx)
  const clock = await readClock(trx)
  const before = await target.read(trx)
  const now = latest(clock, target.datesOf(before))

  let decision: Decision
  try {
    decision = target.decide(before, now)
  } catch (error) {
    // Nothing has been written, so there is nothing to roll back.
    return { kind: 'refused', error }
  }

  const changed = await target.write(trx, before, decision)
  const resource = target.resourceOf?.(decision) ?? entry.resource
  if (changed) await insertAuditEvent(trx, { ...entry, resource }, { at: now })
  return { kind: 'decided', decision, changed }
}

/** The clock of a database can go back, after a fail-over for example; the life of a thing must not. */
function latest(clock: Date, dates: readonly Date[]): Date {
  return new Date(dates.reduce((newest, date) => Math.max(newest, date.getTime()), clock.getTime()))
}
