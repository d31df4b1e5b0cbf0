/**
 * Service users as rows: one query for any number of them, and the mapping to the domain.
 *
 * A row that is no valid service user, or a credential whose MAC is wrong, is refused, never repaired. `service-user-changes.ts` writes
 * users.
 */
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import { isUuid } from '../../domain/identifiers.ts'
import { parseInstanceRole } from '../../domain/identities/permission.ts'
import { type ServiceUser, switchesOf, type UserSettings } from '../../domain/identities/service-user.ts'
import { toTokenClaims } from '../../domain/identities/token-settings.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { managedProjectsOf, toManagedProjects } from '../change/authority-rows.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'
import { inChunks } from '../schema/write-rows.ts'
import { credentialsJson, toCredential } from './credential-rows.ts'

type ServiceUserQuery = ReturnType<typeof selectServiceUsers>
type ServiceUserRow = Awaited<ReturnType<ServiceUserQuery['execute']>>[number]

/** Reads the users with these ids. Ids without a user, and malformed ones, are left out. */
export async function readServiceUsers(
  db: Kysely<Tables>,
  userIds: readonly string[],
  macs: PublicKeyMacs,
): Promise<ReadonlyMap<string, ServiceUser>> {
  const users = new Map<string, ServiceUser>()
  // So that no statement times out.
  for (const some of inChunks([...new Set(userIds)].filter(isUuid))) {
    const { rows } = await db.executeQuery<ServiceUserRow>({ ...USERS_BY_IDS, parameters: [some] })
    for (const row of rows) users.set(row.user_id, toServiceUser(row, macs))
  }
  return users
}

/** The query of whole users; add conditions on columns of `u`. Each column of a list is a subquery that uses an index. */
export function selectServiceUsers(db: Kysely<Tables>) {
  return db
    .selectFrom('service_users as u')
    .innerJoin('projects as p', 'p.project_id', 'u.project_id')
    .select((eb) => [
      'u.user_id',
      'u.name',
      'u.project_id',
      'p.name as project_name',
      'u.creation_date',
      'u.enabled',
      'u.instance_roles',
      'u.settings',
      'u.token_revocation_date',
      credentialsJson(eb).as('credentials'),
      jsonArrayFrom(managedProjectsOf(eb)).as('managed_projects'),
      jsonArrayFrom(
        eb
          .selectFrom('user_project_roles as r')
          .innerJoin('projects as q', 'q.project_id', 'r.project_id')
          .whereRef('r.user_id', '=', 'u.user_id')
          .select(['r.project_id', 'r.role', 'q.roles_claim'])
          .orderBy('r.project_id'),
      ).as('project_roles'),
      jsonArrayFrom(eb.selectFrom('user_scopes as c').whereRef('c.user_id', '=', 'u.user_id').select('c.scope')).as(
        'scopes',
      ),
      jsonArrayFrom(
        eb
          .selectFrom('project_audiences as a')
          .whereRef('a.project_id', '=', 'u.project_id')
          .select(['a.project_id', 'a.audience'])
          .union(
            eb
              .selectFrom('user_project_roles as g')
              .innerJoin('project_audiences as b', 'b.project_id', 'g.project_id')
              .whereRef('g.user_id', '=', 'u.user_id')
              .select(['b.project_id', 'b.audience']),
          ),
      ).as('audiences'),
      jsonArrayFrom(
        eb
          .selectFrom('revoked_tokens as v')
          .whereRef('v.user_id', '=', 'u.user_id')
          .select(['v.token_id', 'v.expiration_date'])
          .orderBy('v.expiration_date')
          .orderBy('v.token_id'),
      ).as('revoked_tokens'),
    ])
}

/** Compiles queries and runs none. */
const queries = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

/** The users of an array of ids, its only parameter, because the number of parameters is limited. Compiled once: that takes 65 µs. */
const USERS_BY_IDS = selectServiceUsers(queries).where(sql<boolean>`u.user_id = any(${[]}::uuid[])`).compile()

/** Empty lists and maps, the same objects for all users: most have no keys, roles or scopes, and it halves the memory of a user. */
const NONE: readonly never[] = []
const NO_ENTRIES: ReadonlyMap<string, never> = new Map<string, never>()

/** @throws {UnreadableRow} if the row is not valid, or the MAC of a credential is wrong; the message names it. */
export function toServiceUser(row: ServiceUserRow, macs: PublicKeyMacs): ServiceUser {
  return readRow('service_user', row.user_id, `service user ${row.user_id}`, () => {
    const settings = row.settings as UserSettings
    return {
      userId: row.user_id,
      name: row.name,
      projectId: row.project_id,
      projectName: row.project_name,
      createdAt: row.creation_date,
      enabled: row.enabled,
      ...switchesOf(settings),
      tokenLifetimeSeconds: settings.tokenLifetimeSeconds ?? null,
      tokenClaims: toTokenClaims(settings.tokenClaims ?? {}),
      credentials: listOf(row.credentials, (json) => toCredential(row.user_id, json, macs)),
      // Sorted here: the order of text in a database depends on its locale.
      instanceRoles: sorted(listOf(row.instance_roles, parseInstanceRole)),
      managedProjects: toManagedProjects(row.managed_projects),
      projectRoles: groupByProject(row.project_roles),
      rolesClaimProjects: listOf(
        row.project_roles.filter(({ roles_claim }) => roles_claim),
        ({ project_id }) => project_id,
      ),
      customScopes: sorted(listOf(row.scopes, ({ scope }) => scope)),
      projectsByAudience: mapOf(listOf(row.audiences, ({ audience, project_id }) => [audience, project_id])),
      tokensRevokedAt: row.token_revocation_date,
      revokedTokens: listOf(row.revoked_tokens, ({ token_id, expiration_date }) => {
        return { tokenId: token_id, expiresAt: new Date(expiration_date) }
      }),
    }
  })
}

function groupByProject(rows: ServiceUserRow['project_roles']): ReadonlyMap<string, readonly string[]> {
  if (rows.length === 0) return NO_ENTRIES
  const roles = new Map<string, string[]>()
  for (const { project_id, role } of rows) {
    const ofProject = roles.get(project_id)
    if (ofProject === undefined) roles.set(project_id, [role])
    else ofProject.push(role)
  }
  for (const ofProject of roles.values()) ofProject.sort()
  return roles
}

function listOf<Row, Item>(rows: readonly Row[], toItem: (row: Row) => Item): readonly Item[] {
  return rows.length === 0 ? NONE : rows.map((row) => toItem(row))
}

function sorted<Item>(items: readonly Item[]): readonly Item[] {
  return items.length === 0 ? NONE : items.toSorted()
}

function mapOf<Value>(entries: readonly (readonly [string, Value])[]): ReadonlyMap<string, Value> {
  return entries.length === 0 ? NO_ENTRIES : new Map(entries)
}

/** How many enabled owners there are besides these users. */
export async function countOwnersBut(db: Kysely<Tables>, userIds: readonly string[]): Promise<number> {
  const { rows } = await sql<{ owners: string }>`
    select count(*) as owners from service_users
    where enabled and 'IAM_OWNER' = any(instance_roles) and user_id <> all(${userIds}::uuid[])`.execute(db)
  return Number(rows[0]?.owners)
}
