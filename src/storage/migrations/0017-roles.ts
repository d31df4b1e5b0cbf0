/**
 * Roles over one project, and those over the instance that are about one duty.
 *
 * The latter are not in `instance_members`: a program that does not know a role there refuses the user, and during an upgrade there are
 * such programs (decision 7).
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`
    create table limited_instance_members (
      user_id uuid not null references service_users on delete cascade,
      role text not null,
      primary key (user_id, role),
      constraint limited_instance_members_known_role
        check (role in ('IAM_KEY_OPERATOR', 'IAM_AUDITOR', 'IAM_USER_ADMINISTRATOR'))
    )`,
  sql`
    create table project_members (
      user_id uuid not null references service_users on delete cascade,
      project_id uuid not null
        constraint project_members_project_exists references projects on delete cascade,
      role text not null,
      primary key (user_id, project_id),
      constraint project_members_known_role check (role in ('PROJECT_OWNER', 'PROJECT_OWNER_VIEWER'))
    )`,
  sql`create index project_members_of_project on project_members (project_id, user_id)`,
]

/** Adds the tables for the new roles. */
export const roles: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
