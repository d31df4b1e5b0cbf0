/**
 * The transaction of an administrative change: it takes the lock of the instance, checks the right to the change, reads, lets
 * the domain decide, and writes the difference, the audit event and the new version, or nothing at all.
 *
 * PostgreSQL ends a transaction whose client is silent, and each wait for the lock is short; a change whose wait timed out is
 * retried (`postgres-pool.ts` has the limits).
 *
 * The stores decide what is read and written. They have no rules of their own: a rule for every writer is a constraint of
 * the schema.
 */
import { sql, type Transaction } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import {
  type AuthorityFacts,
  assertAuthorized,
  type ChangeEntry,
  type UserAuthority,
} from '../../domain/identities/authority.ts'
import { assertOverInstance, type ChangeRight } from '../../domain/identities/change-rights.ts'
import { ANY_USER, type ChangedUsers } from '../../domain/identities/changed-users.ts'
import { parseInstanceRole } from '../../domain/identities/permission.ts'
import type { Revision } from '../../domain/revision.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import { insertAuditEvents } from '../audit/audit-event-row.ts'
import type { Database } from '../postgres/database.ts'
import { readSnapshot } from '../postgres/snapshot.ts'
import { toCommitError, usingStorageWithRetries } from '../postgres/storage-errors.ts'
import type { Tables } from '../schema/tables.ts'
import { instanceRolesOf, managedProjectsOf, toManagedProjects } from './caller-roles.ts'
import { bumpVersion, lockInstance, readChangeMoment } from './instance-row.ts'

/** What a change reads, decides and writes. */
export interface ChangeTarget<Before, Decision> {
  read(trx: Transaction<Tables>): Promise<Before>
  /** For rights that are not over the whole instance. Left out: only those that are will do. */
  readonly within?: Within<Before, Decision>
  /** Pure. Nothing is written if it throws. */
  decide(before: Before, moment: ChangeMoment): Decision
  /** The resource of the audit event, if only the decision knows it. */
  resourceOf?(decision: Decision): string | undefined
  /** The resources of the audit events, if there may be several; empty if nothing is changed. */
  resourcesOf?(decision: Decision): readonly string[]
  /** The users that the difference may change. Left out: any. */
  changedUsers?(before: Before, decision: Decision): ChangedUsers
  /** Writes the difference, and returns whether there is one. If it throws, the transaction is rolled back. */
  write(trx: Transaction<Tables>, before: Before, decision: Decision): Promise<boolean>
}

/** Which part of the instance is changed, so that a right over that part is enough. */
interface Within<Before, Decision> {
  /** What was read, as the caller finds it. @throws {DomainError} `permission_missing` if the caller may only see it. */
  changeable(right: ChangeRight, before: Before): Before
  /** @throws {DomainError} if the right is not enough for what was decided. */
  assertAllowed(
    right: ChangeRight,
    change: { readonly before: Before; readonly decision: Decision; readonly clock: Date },
  ): void
}

/** What the domain returned or threw. A value, so that its errors are not mistaken for those of the database. */
type Ruling<T> = { readonly kind: 'decided'; readonly decision: T } | Refusal
type Refusal = { readonly kind: 'refused'; readonly error: unknown }

/** What was decided, on which revision, and the revision that it made: the same one if nothing changed. */
export interface InstanceChange<Decision> {
  readonly decision: Decision
  readonly before: Revision
  readonly after: Revision
}

/** `change`: its date, and the users that it may have changed; null if nothing changed. */
type Outcome<Decision> =
  | (InstanceChange<Decision> & { readonly kind: 'done'; readonly change: Change | null })
  | Refusal

interface Change {
  readonly at: Date
  readonly users: ChangedUsers
}

/**
 * Makes a change.
 *
 * @param entry The authority, and the audit event that is written if anything changed.
 * @throws {DomainError} `token_invalid` or `permission_missing` if the authority of `entry` does not hold under the lock, or reaches too
 * little.
 * `storage_unavailable`: nothing is stored. `change_outcome_unknown` if the database did not confirm a commit that stores something.
 */
export async function changeInstance<Before, Decision>(
  database: Database,
  entry: ChangeEntry,
  target: ChangeTarget<Before, Decision>,
): Promise<InstanceChange<Decision>> {
  const { authority } = entry
  if (authority.kind === 'user' && authority.reach.kind === 'limited' && target.within !== undefined) {
    await rehearse(database, entry, target)
  }
  return await transact(database, entry, target)
}

/**
 * Stores an observation without a caller, such as a date. No right is checked, and there is no audit
 * event. A change with a caller goes through `changeInstance`.
 *
 * @throws {DomainError} `storage_unavailable`: it may be stored or not. The next observation shows which.
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
          if (outcome.kind === 'refused' || outcome.change === null) return outcome
          const after = await bumpVersion(trx, database, outcome.change)
          commits = true
          return { ...outcome, after }
        })
    } catch (error) {
      throw commits && entry !== null ? toCommitError(error) : error
    }
  }
  const outcome = await usingStorageWithRetries(change, { lockWaitMillis })
  if (outcome.kind === 'refused') throw outcome.error
  const { decision, before, after } = outcome
  return { decision, before, after }
}

/**
 * Refuses before the lock what would be refused under it. Every user has a right over itself, and must not delay the changes of others
 * with requests that are refused. `transact` decides again.
 */
async function rehearse<Before, Decision>(
  { db }: Database,
  entry: ChangeEntry,
  target: ChangeTarget<Before, Decision>,
): Promise<void> {
  // The right and what it is about are those of one moment.
  const ruling = await readSnapshot(db, (trx) => decideOn(trx, entry, target))
  if (ruling.kind === 'refused') throw ruling.error
}

async function changeUnderLock<Before, Decision>(
  trx: Transaction<Tables>,
  entry: ChangeEntry | null,
  target: ChangeTarget<Before, Decision>,
): Promise<Outcome<Decision>> {
  const { revision } = await lockInstance(trx)
  const ruling = await decideOn(trx, entry, target)
  // Nothing has been written, so there is nothing to roll back.
  if (ruling.kind === 'refused') return ruling

  const { before, decision, at } = ruling.decision
  const changed = await target.write(trx, before, decision)
  if (entry !== null) {
    const one = changed ? [target.resourceOf?.(decision) ?? entry.resource] : []
    const resources = target.resourcesOf?.(decision) ?? one
    const entries = resources.map((resource) => ({ ...entry, resource }))
    await insertAuditEvents(trx, entries, { at })
  }
  const users = target.changedUsers?.(before, decision) ?? ANY_USER
  return { kind: 'done', decision, before: revision, after: revision, change: changed ? { at, users } : null }
}

/** What the domain rules on what the transaction sees. Under the lock it stays so, and no change can take the right away. */
async function decideOn<Before, Decision>(
  trx: Transaction<Tables>,
  entry: ChangeEntry | null,
  target: ChangeTarget<Before, Decision>,
): Promise<Ruling<{ readonly before: Before; readonly decision: Decision; readonly at: Date }>> {
  const moment = await readChangeMoment(trx)
  const { clock, date: at } = moment
  const authority = entry?.authority
  let right: ChangeRight | undefined
  if (authority?.kind === 'user') {
    // Expiry is compared with the clock, as that of tokens is, and not with the date of the change, which may be ahead.
    const facts = await readAuthorityFacts(trx, authority)
    const ruling = rule(() => {
      const { user: holder } = assertAuthorized(authority, { ...facts, now: clock })
      const right = { holder, permission: authority.permission }
      if (target.within === undefined) assertOverInstance(right)
      return right
    })
    if (ruling.kind === 'refused') return ruling
    right = ruling.decision
  }
  const found = await target.read(trx)
  return rule(() => {
    const { within } = target
    if (right === undefined || within === undefined) {
      return { before: found, decision: target.decide(found, moment), at }
    }
    const before = within.changeable(right, found)
    const decision = target.decide(before, moment)
    within.assertAllowed(right, { before, decision, clock })
    return { before, decision, at }
  })
}

/** The rows that the right of a caller depends on, for `assertAuthorized`, in one statement. */
async function readAuthorityFacts(
  trx: Transaction<Tables>,
  { userId, credential }: UserAuthority,
): Promise<Omit<AuthorityFacts, 'now'>> {
  const sessionId = credential.kind === 'console_session' ? credential.sessionId : null
  const proof = credential.kind === 'console_session' ? credential.origin : credential
  const keyId = proof.kind === 'access_token' ? proof.keyId : null
  const tokenId = proof.kind === 'personal_access_token' ? proof.tokenId : null
  const accessTokenId = proof.kind === 'access_token' ? proof.tokenId : null
  const row = await trx
    .selectFrom('service_users as u')
    .where('u.user_id', '=', userId)
    .select((eb) => [
      'u.enabled',
      'u.token_revocation_date',
      jsonArrayFrom(instanceRolesOf(eb)).as('roles'),
      jsonArrayFrom(managedProjectsOf(eb)).as('managed_projects'),
      jsonArrayFrom(
        eb
          .selectFrom('personal_access_tokens as t')
          .whereRef('t.user_id', '=', 'u.user_id')
          .where(sql<boolean>`t.token_id = ${tokenId}::uuid`)
          .select(['t.token_id', 't.expiration_date']),
      ).as('tokens'),
      jsonArrayFrom(
        eb
          .selectFrom('revoked_tokens as v')
          .whereRef('v.user_id', '=', 'u.user_id')
          .where(sql<boolean>`v.token_id = ${accessTokenId}::text`)
          .select('v.token_id'),
      ).as('revoked_tokens'),
      jsonArrayFrom(
        eb
          .selectFrom('console_sessions as c')
          .whereRef('c.user_id', '=', 'u.user_id')
          .where(sql<boolean>`c.session_id = ${sessionId}::uuid`)
          .select(['c.expiration_date', 'c.last_use_date']),
      ).as('sessions'),
      jsonArrayFrom(
        eb.selectFrom('web_keys as k').where(sql<boolean>`k.key_id = ${keyId}::text`).select('k.key_id'),
      ).as('keys'),
    ])
    .executeTakeFirst()
  if (row === undefined) return { user: undefined, ring: [] }
  const personalAccessTokens = row.tokens.map(({ token_id, expiration_date }) => {
    // Dates in JSON are text.
    return { tokenId: token_id, expiresAt: new Date(expiration_date) }
  })
  const instanceRoles = row.roles.map(({ role }) => parseInstanceRole(role))
  return {
    user: {
      userId,
      enabled: row.enabled,
      instanceRoles,
      managedProjects: toManagedProjects(row.managed_projects),
      personalAccessTokens,
      tokensRevokedAt: row.token_revocation_date,
      revokedTokens: row.revoked_tokens.map(({ token_id }) => ({ tokenId: token_id })),
    },
    ring: row.keys.map(({ key_id }) => ({ keyId: key_id })),
    session: row.sessions
      .map((session) => ({ expiresAt: new Date(session.expiration_date), lastUsedAt: new Date(session.last_use_date) }))
      .at(0),
  }
}

function rule<T>(decide: () => T): Ruling<T> {
  try {
    return { kind: 'decided', decision: decide() }
  } catch (error) {
    return { kind: 'refused', error }
  }
}
