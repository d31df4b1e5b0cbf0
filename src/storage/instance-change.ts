/**
 * How every administrative change is made: one transaction that takes the lock, reads, lets the domain decide, writes
 * the difference, the audit event and the new version, or nothing at all.
 *
 * What is read and written is the matter of the stores. They have no rules of their own: what must hold whoever writes
 * is a constraint of the schema.
 */
import type { Transaction } from 'kysely'
import type { AuditEntry } from '../domain/audit.ts'
import { latest } from '../domain/time.ts'
import { insertAuditEvent } from './audit-event-row.ts'
import type { Database } from './database.ts'
import { bumpVersion, lockInstance, readChangeTime } from './instance-row.ts'
import { usingStorageRepeatedly } from './storage-errors.ts'
import type { Tables } from './tables.ts'

/** What a change is about. */
export interface ChangeTarget<Before, Decision> {
  read(trx: Transaction<Tables>): Promise<Before>
  /** Dates that the change must not go back behind, however far ahead they are. */
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
  | { readonly kind: 'decided'; readonly decision: Decision; readonly changed: boolean; readonly at: Date }
  | { readonly kind: 'refused'; readonly error: unknown }

/**
 * Makes a change and returns the decision.
 *
 * @param entry Becomes an audit event if anything changed. Null: an observation, which is nobody's deed.
 */
export async function changeInstance<Before, Decision>(
  database: Database,
  entry: AuditEntry | null,
  target: ChangeTarget<Before, Decision>,
): Promise<Decision> {
  const outcome = await usingStorageRepeatedly(() =>
    database.db
      .transaction()
      .setIsolationLevel('read committed')
      .execute(async (trx) => {
        const outcome = await changeUnderLock(trx, entry, target)
        if (outcome.kind === 'decided' && outcome.changed) await bumpVersion(trx, database, outcome)
        return outcome
      }),
  )
  if (outcome.kind === 'refused') throw outcome.error
  return outcome.decision
}

async function changeUnderLock<Before, Decision>(
  trx: Transaction<Tables>,
  entry: AuditEntry | null,
  target: ChangeTarget<Before, Decision>,
): Promise<Outcome<Decision>> {
  await lockInstance(trx)
  const time = await readChangeTime(trx)
  const before = await target.read(trx)
  const now = latest(time, ...target.datesOf(before))

  let decision: Decision
  try {
    decision = target.decide(before, now)
  } catch (error) {
    // Nothing has been written, so there is nothing to roll back.
    return { kind: 'refused', error }
  }

  const changed = await target.write(trx, before, decision)
  if (changed && entry !== null) {
    const resource = target.resourceOf?.(decision) ?? entry.resource
    await insertAuditEvent(trx, { ...entry, resource }, { at: now })
  }
  return { kind: 'decided', decision, changed, at: now }
}
