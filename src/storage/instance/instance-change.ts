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
import { assertAuthorized, type ChangeEntry } from '../../domain/identities/authority.ts'
import type { Revision } from '../../domain/revision.ts'
import { type ChangeMoment, latest } from '../../domain/time.ts'
import { insertAuditEvent } from '../audit/audit-event-row.ts'
import type { Database } from '../postgres/database.ts'
import { toCommitError, usingStorageRepeatedly } from '../postgres/storage-errors.ts'
import type { Tables } from '../schema/tables.ts'
import { readAuthorityFacts } from './authority-row.ts'
import { bumpVersion, lockInstance, readChangeMoment } from './instance-row.ts'

/** What a change is about. */
export interface ChangeTarget<Before, Decision> {
  read(trx: Transaction<Tables>): Promise<Before>
  /** Dates that the change must not go back behind, however far ahead they are. */
  datesOf(before: Before): readonly Date[]
  /** Pure. Nothing is written if it throws. */
  decide(before: Before, moment: ChangeMoment): Decision
  /** What the audit event names, if the decision knows it better than who asked for it. */
  resourceOf?(decision: Decision): string | undefined
  /** Writes what differs, and says whether anything did. If it throws, everything is undone. */
  write(trx: Transaction<Tables>, before: Before, decision: Decision): Promise<boolean>
}

/** What the domain returned or threw. A value, so that no error of it is taken for one of the database. */
type Ruling<T> = { readonly kind: 'decided'; readonly decision: T } | Refusal
type Refusal = { readonly kind: 'refused'; readonly error: unknown }

/** What was decided, on which revision, and the revision that it made: the same one if nothing changed. */
export interface InstanceChange<Decision> {
  readonly decision: Decision
  readonly before: Revision
  readonly after: Revision
}

/** `at`: the date of the change; null if nothing changed. */
type Outcome<Decision> = (InstanceChange<Decision> & { readonly kind: 'done'; readonly at: Date | null }) | Refusal

/**
 * Makes a change.
 *
 * @param entry By whose right, and what becomes an audit event if anything changed.
 * @throws {DomainError} `token_invalid` or `permission_missing` if the authority of `entry` does not hold under the lock.
 * `storage_unavailable`: nothing is stored. `change_outcome_unknown` if the database did not confirm a commit that stores something.
 */
export function changeInstance<Before, Decision>(
  database: Database,
  entry: ChangeEntry,
  target: ChangeTarget<Before, Decision>,
): Promise<InstanceChange<Decision>> {
  return transact(database, entry, target)
}

/**
 * Stores an observation of the system, such as a date. No caller has asked for it, so that no right
 * is checked, and it is no event of the audit trail. What a caller asks for goes through `changeInstance`.
 *
 * @throws {DomainError} `storage_unavailable`: it may be stored or not, which is seen when the system observes it again.
 */
export function observeInstance<Before, Decision>(
  database: Database,
  target: ChangeTarget<Before, Decision>,
): Promise<InstanceChange<Decision>> {
  return transact(database, null, target)
}

/** @param entry Null for an observation. */
async function transact<Before, Decision>(
  database: Database,
  entry: ChangeEntry | null,
  target: ChangeTarget<Before, Decision>,
): Promise<InstanceChange<Decision>> {
  const { changes, lockWaitMillis } = database
  const change = async () => {
    let commits = false
    try {
      return await changes
        .transaction()
        .setIsolationLevel('read committed')
        .execute(async (trx) => {
          const outcome = await changeUnderLock(trx, entry, target)
          if (outcome.kind === 'refused' || outcome.at === null) return outcome
          const after = await bumpVersion(trx, database, { at: outcome.at })
          commits = true
          return { ...outcome, after }
        })
    } catch (error) {
      throw commits && entry !== null ? toCommitError(error) : error
    }
  }
  const outcome = await usingStorageRepeatedly(change, { lockWaitMillis })
  if (outcome.kind === 'refused') throw outcome.error
  const { decision, before, after } = outcome
  return { decision, before, after }
}

async function changeUnderLock<Before, Decision>(
  trx: Transaction<Tables>,
  entry: ChangeEntry | null,
  target: ChangeTarget<Before, Decision>,
): Promise<Outcome<Decision>> {
  const { revision } = await lockInstance(trx)
  const { clock, date } = await readChangeMoment(trx)
  const authority = entry?.authority
  if (authority?.kind === 'user') {
    // The right of the caller as it is now: no change can take it away before this transaction ends. It ends by the clock, as
    // the dates of tokens do, and not by the date of the change, which may be ahead.
    const facts = await readAuthorityFacts(trx, authority)
    const ruling = rule(() => assertAuthorized(authority, { ...facts, now: clock }))
    if (ruling.kind === 'refused') return ruling
  }
  const before = await target.read(trx)
  const at = latest(date, ...target.datesOf(before))
  const ruling = rule(() => target.decide(before, { clock, date: at }))
  // Nothing has been written, so there is nothing to roll back.
  if (ruling.kind === 'refused') return ruling

  const { decision } = ruling
  const changed = await target.write(trx, before, decision)
  if (changed && entry !== null) {
    const resource = target.resourceOf?.(decision) ?? entry.resource
    await insertAuditEvent(trx, { ...entry, resource }, { at })
  }
  return { kind: 'done', decision, before: revision, after: revision, at: changed ? at : null }
}

function rule<T>(decide: () => T): Ruling<T> {
  try {
    return { kind: 'decided', decision: decide() }
  } catch (error) {
    return { kind: 'refused', error }
  }
}
