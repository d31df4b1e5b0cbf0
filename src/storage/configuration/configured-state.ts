/** Reads the part of an instance that a configuration is about, and the part that becomes one. */
import { type Kysely, sql, type Transaction } from 'kysely'
import { MAX_CONFIGURED_USERS } from '../../domain/configuration/configuration.ts'
import type { ConfiguredState } from '../../domain/configuration/plan.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Project } from '../../domain/identities/project.ts'
import { projectsOf, type ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { ConfigurationSelection, ConfigurationSubject, SelectedState } from '../../domain/ports/configuration.ts'
import { readChangeMoment } from '../change/instance-row.ts'
import { readTrustedIssuers } from '../federation/federation-store.ts'
import { readProjectsByIds } from '../identities/project-row.ts'
import { countOwnersBut, readServiceUsers } from '../identities/service-user-row.ts'
import { readRotation } from '../keys/rotation-row.ts'
import type { Tables } from '../schema/tables.ts'
import { inChunks } from '../schema/write-rows.ts'
import { countOtherHolders, takenAway } from './other-holders.ts'

/** Users that one plan is made on: as many as a configuration may have, and as many that it prunes. */
const MAX_USERS = 2 * MAX_CONFIGURED_USERS

interface Reading {
  readonly db: Parameters<typeof readRotation>[0]
  readonly macs: PublicKeyMacs
}

/** The state that a plan is made on. @throws {DomainError} `configuration_too_large`. */
export async function readConfiguredState(
  { db, macs }: Reading,
  subject: ConfigurationSubject,
): Promise<ConfiguredState> {
  const userIds = await findUserIds(db, subject)
  if (userIds.length > MAX_USERS) {
    throw new DomainError(
      'configuration_too_large',
      `more than ${MAX_USERS} service users have the label or a name of the configuration: give parts of them labels of their own`,
    )
  }
  const users = await readUsers({ db, macs }, userIds)
  const projects = await readProjectsByIds(db, [...(await findProjectIds(db, subject)), ...users.flatMap(projectsOf)])
  const trustedIssuers = await readTrustedIssuers(db, macs)
  const ids = [projects.map(({ projectId }) => projectId), userIds, trustedIssuers.map(({ issuerId }) => issuerId)]
  const labels = await readLabels(db, ids.flat())
  const taken = takenAway(subject, { projects, trustedIssuers, labels })
  return {
    version: await readVersion(db),
    projects,
    users,
    trustedIssuers,
    policy: (await readRotation(db)).policy,
    labels,
    otherOwners: await countOwnersBut(db, userIds),
    otherUsers: await countUsersBut(db, userIds, projects),
    otherHolders: await countOtherHolders(db, taken, userIds),
    audiences: await findAudiences(db, subject.audiences),
  }
}

export async function readSelectedState(
  { db, macs }: Reading,
  selection: ConfigurationSelection,
): Promise<SelectedState> {
  const { label, projects: names, maxUsers, maxProjects } = selection
  const isWhole = names.length === 0
  const projectIds = await idsOf(
    db,
    sql`
    select project_id as id from projects
    where (${label}::text is null or configuration_label = ${label}) and (${isWhole} or name = any(${names}::text[]))
    limit ${maxProjects + 1}`,
  )
  const userIds = await idsOf(
    db,
    sql`
    select u.user_id as id from service_users as u join projects as p using (project_id)
    where (${label}::text is null or u.configuration_label = ${label}) and (${isWhole} or p.name = any(${names}::text[]))
    limit ${maxUsers + 1}`,
  )
  const users = await readUsers({ db, macs }, userIds)
  const projects = await readProjectsByIds(db, projectIds)
  const others = await readProjectsByIds(db, users.flatMap(projectsOf))
  const trustedIssuers = await readTrustedIssuers(db, macs)
  const labels =
    label === null
      ? new Map()
      : await readLabels(
          db,
          trustedIssuers.map(({ issuerId }) => issuerId),
        )
  return {
    version: await readVersion(db),
    clock: (await readChangeMoment(db)).clock,
    projects,
    users,
    trustedIssuers: trustedIssuers.filter(
      ({ issuerId }) => isWhole && (label === null || labels.get(issuerId) === label),
    ),
    // It has no label.
    policy: isWhole && label === null ? (await readRotation(db)).policy : null,
    projectNames: new Map([...projects, ...others].map(({ projectId, name }) => [projectId, name])),
    issuerNames: new Map(trustedIssuers.map(({ issuerId, issuer }) => [issuerId, issuer])),
  }
}

async function readUsers({ db, macs }: Reading, userIds: readonly string[]): Promise<readonly ServiceUser[]> {
  const users: ServiceUser[] = []
  for (const some of inChunks(userIds)) users.push(...(await readServiceUsers(db, some, macs)).values())
  return users
}

async function readVersion(db: Kysely<Tables>): Promise<number> {
  const { version } = await db.selectFrom('instance').select('version').where('id', '=', 1).executeTakeFirstOrThrow()
  return Number(version)
}

async function findUserIds(db: Kysely<Tables>, { users, label }: ConfigurationSubject): Promise<readonly string[]> {
  const projects = users.map(({ project }) => project)
  const names = users.map(({ name }) => name)
  return idsOf(
    db,
    sql`
    select u.user_id as id from service_users as u join projects as p using (project_id)
    join unnest(${projects}::text[], ${names}::text[]) as wanted (project, name) on wanted.project = p.name and wanted.name = u.name
    union select user_id from service_users where configuration_label = ${label}::text
    limit ${MAX_USERS + 1}`,
  )
}

async function findProjectIds(
  db: Kysely<Tables>,
  { projects, label }: ConfigurationSubject,
): Promise<readonly string[]> {
  return idsOf(
    db,
    sql`
    select project_id as id from projects where name = any(${projects}::text[]) or configuration_label = ${label}::text`,
  )
}

async function idsOf(db: Kysely<Tables>, query: ReturnType<typeof sql>): Promise<readonly string[]> {
  const { rows } = (await query.execute(db)) as { readonly rows: readonly { readonly id: string }[] }
  return rows.map(({ id }) => id)
}

async function countUsersBut(
  db: Kysely<Tables>,
  userIds: readonly string[],
  projects: readonly Project[],
): Promise<ReadonlyMap<string, number>> {
  const projectIds = projects.map(({ projectId }) => projectId)
  const { rows } = await sql<{ project_id: string; users: string }>`
    select project_id, count(*) as users from service_users
    where project_id = any(${projectIds}::uuid[]) and user_id <> all(${userIds}::uuid[]) group by project_id`.execute(
    db,
  )
  return new Map(rows.map(({ project_id, users }) => [project_id, Number(users)]))
}

async function findAudiences(db: Kysely<Tables>, audiences: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('project_audiences')
    .select(['audience', 'project_id'])
    .where(sql<boolean>`audience = any(${audiences}::text[])`)
    .execute()
  return new Map(rows.map(({ audience, project_id }) => [audience, project_id]))
}

/** Tables whose rows can have a label, and their ids, which are UUIDs and different in all tables. */
const LABELLED = { projects: 'project_id', service_users: 'user_id', trusted_issuers: 'issuer_id' } as const

async function readLabels(db: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const labels = new Map<string, string>()
  for (const [table, id] of Object.entries(LABELLED)) {
    const { rows } = await sql<{ id: string; label: string }>`
      select ${sql.ref(id)} as id, configuration_label as label from ${sql.table(table)}
      where ${sql.ref(id)} = any(${ids}::uuid[]) and configuration_label is not null`.execute(db)
    for (const row of rows) labels.set(row.id, row.label)
  }
  return labels
}

/** Gives these resources a label. */
export async function writeLabels(trx: Transaction<Tables>, ids: readonly string[], label: string): Promise<void> {
  if (ids.length === 0) return
  for (const [table, id] of Object.entries(LABELLED)) {
    await sql`
      update ${sql.table(table)} set configuration_label = ${label}
      where ${sql.ref(id)} = any(${ids}::uuid[])`.execute(trx)
  }
}
