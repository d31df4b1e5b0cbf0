/**
 * What tokens say, and their end: audiences of projects, lifetime and claims per service user, and revoked access tokens.
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

  // In seconds. Null: as the instance has it.
  sql`
    alter table service_users add column token_lifetime integer
      constraint service_users_token_lifetime_range check (token_lifetime between 60 and 86400)`,
  // Null: none. Not jsonb, so that members keep their order.
  sql`
    alter table service_users add column token_claims json
      constraint service_users_token_claims_are_an_object check (json_typeof(token_claims) = 'object')`,
  // Null: no token has been revoked in this way.
  sql`alter table service_users add column token_revocation_date timestamptz(3)`,
  sql`
    create table revoked_tokens (
      user_id uuid not null references service_users on delete cascade,
      token_id text not null,
      expiration_date timestamptz(3) not null,
      primary key (user_id, token_id),
      constraint revoked_tokens_token_id_length check (length(token_id) between 1 and 200)
    )`,
  sql`create index revoked_tokens_by_expiration on revoked_tokens (expiration_date)`,
]

/** Adds audiences, settings for tokens, and revoked tokens. */
export const tokens: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
