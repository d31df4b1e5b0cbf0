import type { ColumnType } from 'kysely'

export interface WebhookTables {
  webhooks: WebhookTable
  webhook_deliveries: WebhookDeliveryTable
}

interface WebhookTable {
  webhook_id: string
  name: string
  url: string
  /** PEM. */
  ca_certificates: string | null
  event_types: string[]
  resources: string[]
  /** Why. Null: it is not. */
  disabled: string | null
  sealed_secret: string
  previous_sealed_secret: string | null
  previous_expiration_date: Date | null
  last_test_date: Date | null
  creation_date: ColumnType<Date, Date, never>
}

interface WebhookDeliveryTable {
  webhook_id: string
  position: string
  lease: string | null
  lease_end_date: Date | null
  next_attempt_date: Date | null
  failing_event_id: string | null
  failing_event_date: Date | null
  failures: number
  failing_since_date: Date | null
  rejected_since_date: Date | null
  waiting: number
  last_success_date: Date | null
  last_failure: string | null
  last_failure_date: Date | null
  /** pg reads a bigint as text. */
  given_up: ColumnType<string, number, number>
  expired: ColumnType<string, number | undefined, number>
}
