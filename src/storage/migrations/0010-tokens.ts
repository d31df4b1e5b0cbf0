/**
 * What tokens are for: the audiences of projects.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // An audience belongs to one project, whose services alone accept a token for it.
  sql`
    create table project_audiences (
      project_id uuid not null references projects on delete cascade,
      audience text not null,
      primary key (project_id, audience),
      constraint project_audiences_audience_unique unique (audience),
      constraint project_audiences_audience_length check (length(audience) <= 200),
      constraint project_audiences_audience_is_a_uri
        check (audience ~ '^[A-Za-z][A-Za-z0-9+.-]*:[][A-Za-z0-9._~:/?@!$&''()*+,;=%-]+$')
    )`,
]

/** Adds the audiences of projects. */
export const tokens: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
