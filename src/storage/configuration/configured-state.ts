/** Reads the part of an instance that a configuration is about, or that becomes one. */
import { type Kysely, sql, type Transaction } from 'kysely'
import { MAX_CONFIGURED_PROJECTS, MAX_CONFIGURED_USERS } from '../../domain/configuration/configuration.ts'
import type { ConfiguredState } from '../../domain/configuration/plan.ts'
import { DomainError } from '../../domain/errors.ts'
import { projectsOf } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { ConfigurationSubject } from '../../domain/ports/configuration.ts'
import { readTrustedIssuers } from '../federation/federation-store.ts'
import { readProjectsByIds } from '../identities/project-row.ts'
import { countOwnersBut, readServiceUsers } from '../identities/service-user-row.ts'
import { readRotation } from '../keys/rotation-row.ts'
import type { Tables } from '../schema/tables.ts'

/** Users that one plan is made on: as many as a configuration may have, and as many that it prunes. */
const MAX_USERS = 2 * MAX_CONFIGURED_USERS

interface Reading {
  readonly db: Parameters<typeof readRotation>[0]
  readonly macs: PublicKeyMacs
}

/** @throws {DomainError} `configuration_too_large`. */
export async function readConfiguredState(
  { db, macs }: Reading,
  subject: ConfigurationSubject,
): Promise<ConfiguredState> {
  const found = await findIds(db, subject)
  const users = [...(await readServiceUsers(db, found.users, macs)).values()]
  const projects = await readProjectsByIds(db, [...found.projects, ...users.flatMap(projectsOf)])
  const trustedIssuers = await readTrustedIssuers(db, macs)
  const projectIds = projects.map(({ projectId }) => projectId)
  const { version } = await db.selectFrom('instance').select('version').where('id', '=', 1).executeTakeFirstOrThrow()
  return {
    version: Number(version),
    projects,
    users,
    trustedIssuers,
    policy: (await readRotation(db)).policy,
    labels: await readLabels(db, [...projectIds, ...found.users, ...trustedIssuers.map(({ issuerId }) => issuerId)]),
    otherOwners: await countOwnersBut(db, found.users),
    otherUsers: await countUsersBut(db, found.users, projectIds),
  }
}

/** The projects and users that a subject is about. */
async function findIds(db: Kysely<Tables>, subject: ConfigurationSubject) {
  const { label, projects: names } = subject
  if (subject.kind === 'selected') {
    const isSelected = (name: string, labelled: string) => sql`
      (${label}::text is null or ${sql.ref(labelled)} = ${label})
      and (${names.length === 0} or ${sql.ref(name)} = any(${names}::text[]))`
    const projects = await idsOf(
      db,
      sql`select project_id as id from projects where ${isSelected('name', 'configuration_label')}
        limit ${MAX_CONFIGURED_PROJECTS + 1}`,
    )
    const users = await idsOf(
      db,
      sql`select u.user_id as id from service_users as u join projects as p using (project_id)
        where ${isSelected('p.name', 'u.configuration_label')} limit ${MAX_CONFIGURED_USERS + 1}`,
    )
    if (users.length > MAX_CONFIGURED_USERS || projects.length > MAX_CONFIGURED_PROJECTS)
      throw tooLarge(
        `a configuration has at most ${MAX_CONFIGURED_USERS} service users and ${MAX_CONFIGURED_PROJECTS} projects: export it by projects`,
      )
    return { projects, users }
  }
  const projects = await idsOf(
    db,
    sql`select project_id as id from projects where name = any(${names}::text[]) or configuration_label = ${label}::text
      union select project_id from project_audiences where audience = any(${subject.audiences}::text[])`,
  )
  const [of, named] = [subject.users.map(({ project }) => project), subject.users.map(({ name }) => name)]
  const users = await idsOf(
    db,
    sql`select u.user_id as id from service_users as u join projects as p using (project_id)
      join unnest(${of}::text[], ${named}::text[]) as wanted (project, name) on wanted.project = p.name and wanted.name = u.name
      union select user_id from service_users where configuration_label = ${label}::text
      limit ${MAX_USERS + 1}`,
  )
  if (users.length > MAX_USERS)
    throw tooLarge(
      `more than ${MAX_USERS} service users have the label or a name of the configuration: give parts of them labels of their own`,
    )
  return { projects, users }
}

function tooLarge(message: string): DomainError {
  return new DomainError('configuration_too_large', message)
}

async function idsOf(db: Kysely<Tables>, query: ReturnType<typeof sql>): Promise<readonly string[]> {
  const { rows } = (await query.execute(db)) as { readonly rows: readonly { readonly id: string }[] }
  return rows.map(({ id }) => id)
}

async function countUsersBut(
  db: Kysely<Tables>,
  userIds: readonly string[],
  projectIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ project_id: string; users: string }>`
    select project_id, count(*) as users from service_users
    where project_id = any(${projectIds}::uuid[]) and user_id <> all(${userIds}::uuid[]) group by project_id`.execute(
    db,
  )
  return new Map(rows.map(({ project_id, users }) => [project_id, Number(users)]))
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
