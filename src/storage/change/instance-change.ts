/**
 * The transaction of an administrative change: it takes the lock of the instance, checks the right to the change, reads, lets
 * the domain decide, and writes the difference, the audit events and the new version, or nothing at all.
 *
 * PostgreSQL ends a transaction whose client is silent, and each wait for the lock is short; a change whose wait timed out is
 * retried (`postgres-pool.ts` has the limits).
 *
 * The stores decide what is read and written, and ask the domain for the rules that go for every writer, such as that an owner is left; other rules for
 * every writer are constraints of the schema.
 */
import type { Transaction } from 'kysely'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Revision } from '../../domain/changes.ts'
import { ANY_USER, type ChangedUsers } from '../../domain/changes.ts'
import { assertAuthorized, type ChangeEntry } from '../../domain/identities/authority.ts'
import { assertOverInstance, type ChangeRight } from '../../domain/identities/change-rights.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import { insertAuditEvents } from '../audit/audit-event-row.ts'
import { type Database, readSnapshot } from '../postgres/database.ts'
import { toCommitError, usingStorageWithRetries } from '../postgres/storage-errors.ts'
import type { Tables } from '../schema/tables.ts'
import { readAuthority } from './authority-rows.ts'
import { bumpVersion, lockInstance, readChangeMoment } from './instance-row.ts'

export interface Change<Before, Decision extends Decided> {
  read(trx: Transaction<Tables>): Promise<Before>
  /** Whether `decide` checks what the right of the caller reaches. Left out: it must reach the whole instance. */
  readonly decidesReach?: true
  /** Pure. Nothing is written if it throws. @param right That of the caller. Undefined: of the system, or of a client over what is its own. */
  decide(before: Before, moment: ChangeMoment, right: ChangeRight | undefined): Decision
  /** Writes the difference, and returns whether there is one. If it throws, the transaction is rolled back. */
  write(trx: Transaction<Tables>, before: Before, decision: Decision): Promise<boolean>
}

/** What a decision says of itself, if it changes anything. */
export interface Decided {
  /** Its audit events: what they say other than the entry. Left out: one, which says the same. */
  readonly events?: readonly Partial<Pick<AuditEntry, 'action' | 'resource'>>[]
  /** The users that it may have changed. Left out: any. */
  readonly changedUsers?: ChangedUsers
}

/** What was decided, on which revision, and the revision that it made: the same one if nothing changed. */
export interface Changed<Decision> {
  readonly decision: Decision
  readonly before: Revision
  readonly after: Revision
}

/**
 * Makes a change.
 * @param entry The authority, and the audit event that is written if anything changed. Null for an observation, such as a date: it has no caller,
 * no right is checked, and there is no event.
 * @throws {DomainError} `token_invalid` or `permission_missing` if the authority of `entry` does not hold under the lock, or reaches too
 * little. `storage_unavailable`: nothing is stored; of an observation it may be, and the next one shows it. `change_outcome_unknown` if the database
 * did not confirm a commit that stores something.
 */
export async function changeInstance<Before, Decision extends Decided>(
  database: Database,
  entry: ChangeEntry | null,
  change: Change<Before, Decision>,
): Promise<Changed<Decision>> {
  const authority = entry?.authority
  if (authority?.kind === 'user' && authority.reach.kind === 'limited' && change.decidesReach) {
    // Refuses before the lock what would be refused under it. Every user has a right over itself, and must not delay the changes of others with
    // requests that are refused. The right and what it is about are those of one moment.
    await readSnapshot(database.db, (trx) => decideOn(trx, entry, change))
  }
  const attempt = async (): Promise<Changed<Decision>> => {
    let isChange = false
    try {
      return await database.changes
        .transaction()
        .setIsolationLevel('read committed')
        .execute(async (trx) => {
          const { revision } = await lockInstance(trx)
          const { before, decision, at } = await decideOn(trx, entry, change)
          const { events = [{}], changedUsers: users = ANY_USER } = decision
          if (!(await change.write(trx, before, decision))) return { decision, before: revision, after: revision }
          if (entry !== null) {
            const entries = events.map((event) => ({ ...entry, ...event }))
            await insertAuditEvents(trx, entries, { at })
          }
          const after = await bumpVersion(trx, database, { at, users })
          isChange = true
          return { decision, before: revision, after }
        })
    } catch (error) {
      throw isChange && entry !== null ? toCommitError(error) : error
    }
  }
  return await usingStorageWithRetries(attempt, { lockWaitMillis: database.lockWaitMillis })
}

/** The same, for what its decision results in. */
export async function changeForResult<Before, Decision extends Decided & { readonly result: unknown }>(
  database: Database,
  entry: ChangeEntry | null,
  change: Change<Before, Decision>,
): Promise<Decision['result']> {
  return (await changeInstance(database, entry, change)).decision.result
}

/** What the domain decides on what the transaction sees. Under the lock it stays so, and no change can take the right away. */
async function decideOn<Before, Decision extends Decided>(
  trx: Transaction<Tables>,
  entry: ChangeEntry | null,
  change: Change<Before, Decision>,
): Promise<{ readonly before: Before; readonly decision: Decision; readonly at: Date }> {
  const moment = await readChangeMoment(trx)
  const authority = entry?.authority
  let right: ChangeRight | undefined
  if (authority?.kind === 'user') {
    // Expiry is compared with the clock, as that of tokens is, and not with the date of the change, which may be ahead.
    const facts = { ...(await readAuthority(trx, authority)), now: moment.clock }
    const { user: holder } = assertAuthorized(authority, facts)
    right = { holder, permission: authority.permission }
    if (!change.decidesReach) assertOverInstance(right)
  }
  const before = await change.read(trx)
  return { before, decision: change.decide(before, moment, right), at: moment.date }
}
