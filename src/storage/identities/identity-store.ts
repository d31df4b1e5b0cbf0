/**
 * The `IdentityStore` on a database: projects and service users, each read and changed as a whole.
 *
 * How a change is locked, audited and announced is in `instance-change.ts`; the rows are beside the mappings.
 */
import { type Kysely, sql } from 'kysely'
import type { ChangedUsers } from '../../domain/changes.ts'
import { DomainError, type DomainErrorCode } from '../../domain/errors.ts'
import { isUuid } from '../../domain/identifiers.ts'
import {
  assertMayChangeUser,
  assertOverInstance,
  changeableProject,
  changeableUser,
} from '../../domain/identities/change-rights.ts'
import {
  assertOwnerLeft,
  isEnabledOwner,
  type ServiceUser,
  settleChange,
} from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { IdentityStore, Page, UserFilter } from '../../domain/ports/identities.ts'
import { changeForResult } from '../change/instance-change.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import type { Tables } from '../schema/tables.ts'
import { readMembers, readProject, readProjects, writeProjects } from './project-row.ts'
import { writeServiceUsers } from './service-user-changes.ts'
import { countOwnersBut, readServiceUsers, selectServiceUsers, toServiceUser } from './service-user-row.ts'

type Write = () => Promise<boolean>

/** What is being changed: the same constraint refuses to delete a project and to create a user. */
type Changed = 'project' | 'user'

/** The refusals of constraints, by the names that the migrations gave them. */
const REFUSALS: Readonly<Record<string, Partial<Record<Changed, readonly [DomainErrorCode, string]>>>> = {
  projects_name_unique: { project: ['project_name_taken', 'another project has this name'] },
  project_audiences_audience_unique: { project: ['project_audience_taken', 'another project has this audience'] },
  service_users_project_id_fkey: {
    project: ['project_has_users', 'the project has service users: delete them first'],
    user: ['project_not_found', 'there is no such project'],
  },
  project_members_project_exists: { user: ['project_not_found', 'there is no such project'] },
  user_project_roles_role_exists: { user: ['project_role_not_found', 'the project has no such role'] },
  credentials_issuer_exists: { user: ['trusted_issuer_not_found', 'there is no such trusted issuer'] },
  user_scopes_scope_exists: { user: ['project_scope_not_found', "the user's project has no such scope"] },
}

/** The projects and service users of a migrated database. */
export function createIdentityStore(database: Database, macs: PublicKeyMacs): IdentityStore {
  const { db } = database
  const reading = { db, macs }
  return {
    changeProject: (projectId, entry, decide) =>
      changeForResult(database, entry, {
        read: (trx) => readProject(trx, projectId),
        decidesReach: true,
        decide: (found, { date }, right) => {
          const before = right === undefined ? found : changeableProject(right, found)
          const { next, result } = decide(before, date)
          // Only a right over the whole instance adds to what is in it.
          if (right !== undefined && before === undefined) assertOverInstance(right)
          return { before, next, result, changedUsers: some([], [projectId]) }
        },
        write: async (trx, _found, { before, next }) => {
          if (next === before) return false
          if (next !== null && next.projectId !== projectId) throw new Error('the decision is about another project')
          return await refusing('project', () => writeProjects(trx, [[before, next]]))
        },
      }),

    changeUser: (userId, entry, decide) =>
      changeForResult(database, entry, {
        read: (trx) => readUser({ db: trx, macs }, userId),
        decidesReach: true,
        decide: (found, moment, right) => {
          const { clock } = moment
          const before = right === undefined ? found : changeableUser(right, found)
          const { next: wanted, result } = decide(before, moment)
          const next = wanted === null || wanted === before ? wanted : settleChange(before, wanted, clock)
          if (right !== undefined) assertMayChangeUser(right, { before, next }, clock)
          return { before, next, result, changedUsers: some([userId], []) }
        },
        write: async (trx, _found, { before, next }) => {
          if (next === before) return false
          if (next !== null && next.userId !== userId) throw new Error('the decision is about another user')
          if (before !== undefined && isEnabledOwner(before)) {
            assertOwnerLeft(before, next, await countOwnersBut(trx, [userId]))
          }
          return await refusing('user', () => writeServiceUsers(trx, [[before, next]], macs))
        },
      }),

    findProject: (projectId) => usingStorageWithRetries(() => readProject(db, projectId)),
    listProjects: (page, reach) => usingStorageWithRetries(() => readProjects(db, page, reach)),
    listMembers: (projectId, page) => usingStorageWithRetries(() => readMembers(db, projectId, page)),
    findUser: (userId) => usingStorageWithRetries(() => readUser(reading, userId)),
    listUsers: (filter, page) => usingStorageWithRetries(() => readUsers(reading, filter, page)),
    findUserByPersonalAccessToken: (hash) => usingStorageWithRetries(() => readUserByToken(reading, hash)),
  }
}

function some(userIds: readonly string[], projectIds: readonly string[]): ChangedUsers {
  return { kind: 'some', userIds, projectIds }
}

/** Turns the violation of a constraint into a refusal. */
async function refusing(changed: Changed, write: Write): Promise<boolean> {
  try {
    return await write()
  } catch (error) {
    throw toRefusal(error, changed)
  }
}

/** The refusal of a constraint, or the error itself if it is another one. */
function toRefusal(error: unknown, changed: Changed): unknown {
  const constraint = typeof error === 'object' && error !== null && 'constraint' in error ? error.constraint : undefined
  if (typeof constraint !== 'string' || !Object.hasOwn(REFUSALS, constraint)) return error
  const refusal = REFUSALS[constraint]?.[changed]
  return refusal === undefined ? error : new DomainError(refusal[0], refusal[1], { cause: error })
}

interface Reading {
  readonly db: Kysely<Tables>
  readonly macs: PublicKeyMacs
}

async function readUser({ db, macs }: Reading, userId: string): Promise<ServiceUser | undefined> {
  return (await readServiceUsers(db, [userId], macs)).get(userId)
}

async function readUsers(
  { db, macs }: Reading,
  { projectId, search, reach }: UserFilter,
  { after, limit }: Page<{ readonly createdAt: Date; readonly userId: string }>,
): Promise<readonly ServiceUser[]> {
  if (projectId !== null && !isUuid(projectId)) return []
  let query = selectServiceUsers(db).orderBy('u.creation_date').orderBy('u.user_id').limit(limit)
  if (projectId !== null) query = query.where('u.project_id', '=', projectId)
  if (reach.kind === 'limited') {
    const { projectIds, userId } = reach
    query = query.where(sql<boolean>`(u.project_id = any(${[...projectIds]}::uuid[]) or u.user_id = ${userId}::uuid)`)
  }
  if (search !== '') query = query.where(containsText(search))
  if (after !== null) {
    query = query.where(sql<boolean>`(u.creation_date, u.user_id) > (${after.createdAt}, ${after.userId})`)
  }
  return (await query.execute()).map((row) => toServiceUser(row, macs))
}

/**
 * Whether the name or the client ID contains a text, in any case, as far as the locale of the database knows it. No index serves a text in
 * the middle, so rows are read in the order of the list until the page is full.
 */
function containsText(search: string) {
  return sql<boolean>`strpos(lower(u.name || E'\\n' || u.user_id || '@' || p.name), lower(${search})) > 0`
}

async function readUserByToken({ db, macs }: Reading, hash: Uint8Array): Promise<ServiceUser | undefined> {
  const row = await selectServiceUsers(db)
    .where('u.user_id', '=', (eb) =>
      eb
        .selectFrom('credentials')
        .select('user_id')
        // As a constant, so that the index of tokens serves it.
        .where('kind', '=', sql.lit('personal_access_token'))
        .where('hash', '=', hash),
    )
    .executeTakeFirst()
  return row === undefined ? undefined : toServiceUser(row, macs)
}
