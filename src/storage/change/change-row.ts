/**
 * The last changes of the instance as rows: one for each version, with the service users that it may have changed.
 *
 * `instance-row.ts` writes them with the version.
 */
import { type Kysely, type NotNull, sql, type Transaction } from 'kysely'
import type { ChangedUsers, IdentityChanges, Revision } from '../../domain/changes.ts'
import type { FederatedSubject } from '../../domain/identities/federated-identity.ts'
import type { Tables } from '../schema/tables.ts'

/** How many changes are kept. A replica that was away for more reads everything again. */
export const KEPT_CHANGES = 100
/** Of one change. One that names more may have changed any user. */
const MAX_IDS = 1000
/** Of all changes that a replica lacks. */
const MAX_CHANGED_IDS = 10_000

const ANY: IdentityChanges = { kind: 'any' }

export function toChangeColumns(changed: ChangedUsers): {
  readonly userIds: readonly string[] | null
  readonly projectIds: readonly string[]
} {
  if (changed.kind === 'any' || changed.userIds.length + changed.projectIds.length > MAX_IDS) {
    return { userIds: null, projectIds: [] }
  }
  return changed
}

/**
 * What the changes after `since` up to `now`, which the transaction sees, may have changed. It is any user if a change has no row,
 * because a program that is older than the table made it, or because it was too long ago; and if `since` is not in the history of
 * `now`, because the database has gone back.
 */
export async function readIdentityChanges(
  trx: Transaction<Tables>,
  since: Revision,
  now: Revision,
): Promise<IdentityChanges> {
  const count = now.version - since.version
  if (since.version < 0 || since.changedAt === null || count < 0 || count >= KEPT_CHANGES) return ANY
  const [first, ...changes] = await trx
    .selectFrom('instance_changes')
    .selectAll()
    .where('version', '>=', String(since.version))
    .orderBy('version')
    .execute()
  if (Number(first?.version) !== since.version || first?.changed_at.getTime() !== since.changedAt.getTime()) return ANY
  if (changes.length !== count) return ANY
  const userIds = new Set<string>()
  const projectIds = new Set<string>()
  for (const { user_ids, project_ids } of changes) {
    if (user_ids === null) return ANY
    for (const userId of user_ids) userIds.add(userId)
    for (const projectId of project_ids) projectIds.add(projectId)
  }
  if (userIds.size > MAX_CHANGED_IDS) return ANY
  return { kind: 'some', userIds, projectIds, subjects: await readSubjects(trx, [...userIds]) }
}

async function readSubjects(db: Kysely<Tables>, userIds: readonly string[]): Promise<readonly FederatedSubject[]> {
  if (userIds.length === 0) return []
  const rows = await db
    .selectFrom('credentials')
    .select(['issuer_id as issuerId', 'subject'])
    .where(sql<boolean>`user_id = any(${userIds}::uuid[])`)
    .where('issuer_id', 'is not', null)
    .$narrowType<{ issuerId: NotNull; subject: NotNull }>()
    .execute()
  return rows
}
