/**
 * How every administrative change is made: one transaction that takes the lock, checks the right to the change, reads,
 * lets the domain decide, writes the difference, the audit event and the new version, or nothing at all.
 *
 * The server ends a transaction whose client falls silent, and each wait for the lock is short; a change that waited in
 * vain tries again (`postgres-pool.ts` has the limits).
 *
 * What is read and written is the matter of the stores. They have no rules of their own: what must hold whoever writes
 * is a constraint of the schema.
 */
import type { Transaction } from 'kysely'
import { assertAuthorized, type ChangeEntry } from '../domain/authority.ts'
import { insertAuditEvent } from './audit-event-row.ts'
import { readAuthorityFacts } from './authority-row.ts'
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

/** What the domain returned or threw. A value, so that no error of it is taken for one of the database. */
type Ruling<T> = { readonly kind: 'decided'; readonly decision: T } | Refusal
type Refusal = { readonly kind: 'refused'; readonly error: unknown }
type Outcome<Decision> = { readonly kind: 'done'; readonly decision: Decision; readonly changed: boolean } | Refusal

/**
 * Makes a change and returns the decision. `entry` becomes an audit event if anything changed.
 *
 * @throws {DomainError} `token_invalid` or `permission_missing` if the authority of `entry` does not hold under the lock.
 */
export async function changeInstance<Before, Decision>(
  database: Database,
  entry: ChangeEntry,
  target: ChangeTarget<Before, Decision>,
): Promise<Decision> {
  const { changes, lockWaitMillis } = database
  const change = () =>
    changes
      .transaction()
      .setIsolationLevel('read committed')
      .execute(async (trx) => {
        const outcome = await changeUnderLock(trx, entry, target)
        if (outcome.kind === 'done' && outcome.changed) await bumpVersion(trx, database)
        return outcome
      })
  const outcome = await usingStorageRepeatedly(change, { lockWaitMillis })
  if (outcome.kind === 'refused') throw outcome.error
  return outcome.decision
}

async function changeUnderLock<Before, Decision>(
  trx: Transaction<Tables>,
  entry: ChangeEntry,
  target: ChangeTarget<Before, Decision>,
): Promise<Outcome<Decision>> {
  await lockInstance(trx)
  const clock = await readClock(trx)
  const { authority } = entry
  if (authority.kind !== 'system') {
    // The right of the caller as it is now: no change can take it away before this transaction ends.
    const facts = await readAuthorityFacts(trx, authority)
    const ruling = rule(() => assertAuthorized(authority, { ...facts, now: clock }))
    if (ruling.kind === 'refused') return ruling
  }
  const before = await target.read(trx)
  const now = latest(clock, target.datesOf(before))
  const ruling = rule(() => target.decide(before, now))
  // Nothing has been written, so there is nothing to roll back.
  if (ruling.kind === 'refused') return ruling

  const { decision } = ruling
  const changed = await target.write(trx, before, decision)
  const resource = target.resourceOf?.(decision) ?? entry.resource
  if (changed) await insertAuditEvent(trx, { ...entry, resource }, { at: now })
  return { kind: 'done', decision, changed }
}

function rule<T>(decide: () => T): Ruling<T> {
  try {
    return { kind: 'decided', decision: decide() }
  } catch (error) {
    return { kind: 'refused', error }
  }
}

/** The clock of a database can go back, after a fail-over for example; the life of a thing must not. */
function latest(clock: Date, dates: readonly Date[]): Date {
  return new Date(dates.reduce((newest, date) => Math.max(newest, date.getTime()), clock.getTime()))
}
