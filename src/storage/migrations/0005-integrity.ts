/**
 * The integrity key of an instance, and the MACs of rows with public keys. Decision 11.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema/tables.ts'

const COLUMNS = [
  sql`alter table instance add column sealed_integrity_key text`,
  sql`alter table web_keys add column mac bytea`,
  sql`alter table revoked_web_keys add column mac bytea`,
  sql`alter table user_keys add column mac bytea`,
]

const RULES = [
  // A program without integrity keys would write rows that all others refuse.
  sql`update instance set schema_major = 2`,
  sql`
    alter table instance add constraint instance_initialised_with_integrity_key
      check (initialised_at is null or sealed_integrity_key is not null)`,
  ...['web_keys', 'revoked_web_keys', 'user_keys'].flatMap((table) => [
    sql`alter table ${sql.table(table)} alter column mac set not null`,
    sql`
      alter table ${sql.table(table)} add constraint ${sql.ref(`${table}_mac_is_sha256`)}
        check (octet_length(mac) = 32)`,
  ]),
]

/**
 * Adds the integrity key and the MACs.
 *
 * @param takeOver Gives an existing instance a key and MACs. It runs only together with the statements that add the columns, so
 * no change of rows can make it run again.
 */
export function integrity(takeOver: (db: Kysely<Tables>) => Promise<void>): Migration {
  return {
    up: async (db: Kysely<Tables>) => {
      for (const statement of COLUMNS) await statement.execute(db)
      await takeOver(db)
      for (const statement of RULES) await statement.execute(db)
    },
  }
}
