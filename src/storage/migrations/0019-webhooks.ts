/**
 * Webhooks, to which events are sent.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`
    create table webhooks (
      webhook_id uuid primary key,
      name text not null,
      url text not null,
      ca_certificates text,
      event_types text[] not null,
      resources text[] not null,
      disabled text,
      sealed_secret text not null,
      previous_sealed_secret text,
      previous_expiration_date timestamptz(3),
      creation_date timestamptz(3) not null,
      last_test_date timestamptz(3),
      constraint webhooks_name_unique unique (name),
      constraint webhooks_name_length check (length(name) between 1 and 63),
      constraint webhooks_url_is_https check (url like 'https://%' and length(url) <= 1000),
      constraint webhooks_ca_certificates_length check (length(ca_certificates) between 1 and 25000),
      constraint webhooks_disabled_for_a_reason check (disabled in ('by_administrator', 'gone')),
      constraint webhooks_previous_secret_ends check (
        (previous_sealed_secret is null) = (previous_expiration_date is null))
    )`,
  // Apart from the webhook, because a delivery is no change of the instance. The position is that of the audit trail (decision 37).
  sql`
    create table webhook_deliveries (
      webhook_id uuid primary key references webhooks on delete cascade,
      position text not null,
      lease uuid,
      lease_end_date timestamptz(3),
      next_attempt_date timestamptz(3),
      failing_event_id uuid,
      failing_event_date timestamptz(3),
      failures integer not null default 0,
      failing_since_date timestamptz(3),
      rejected_since_date timestamptz(3),
      waiting integer not null default 0,
      last_success_date timestamptz(3),
      last_failure text,
      last_failure_date timestamptz(3),
      given_up bigint not null default 0,
      expired bigint not null default 0,
      constraint webhook_deliveries_lease_ends check ((lease is null) = (lease_end_date is null)),
      constraint webhook_deliveries_failing_event_whole check (
        (failing_event_id is null) = (failing_event_date is null) and (failing_event_id is null) = (failing_since_date is null)),
      constraint webhook_deliveries_failure_has_a_date check ((last_failure is null) = (last_failure_date is null)),
      constraint webhook_deliveries_failure_length check (length(last_failure) <= 1000)
    )`,
]

/** Adds webhooks, and how delivery to them goes. */
export const webhooks: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
