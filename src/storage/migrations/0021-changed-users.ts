/**
 * Which service users each of the last changes may have changed, so that replicas read those again and no others.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Null in `user_ids`: any user. A program that is older than this table leaves its versions out. */
const INSTANCE_CHANGES = sql`
  create table instance_changes (
    version bigint primary key,
    changed_at timestamptz not null,
    user_ids uuid[],
    project_ids uuid[] not null
  )`

/** Adds the table. */
export const changedUsers: Migration = {
  up: async (db: Kysely<unknown>) => {
    await INSTANCE_CHANGES.execute(db)
  },
}
