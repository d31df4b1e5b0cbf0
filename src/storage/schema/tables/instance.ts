/**
 * The instance itself, and what replicas record about it.
 */
import type { ColumnType, Generated } from 'kysely'

export interface InstanceTables {
  migrations: MigrationTable
  instance: InstanceTable
  instance_changes: InstanceChangeTable
  replicas: ReplicaTable
}

interface MigrationTable {
  name: string
  run_date: ColumnType<Date, never, never>
}

/** One row: the version of the instance, and the lock of all changes. */
interface InstanceTable {
  id: number
  /** pg reads a bigint as text. */
  version: ColumnType<string, number, number>
  initialised_at: Date | null
  /** Null: no change yet. */
  changed_at: ColumnType<Date | null, Date | null | undefined>
  schema_major: Generated<number>
  /** Null: not initialised yet. */
  sealed_integrity_key: ColumnType<string | null, string | null | undefined>
  /** Null until the first start of a server that stores it. */
  issuer: ColumnType<string | null, string | undefined>
  /** Of the events that are written from now on (decision 37). */
  audit_epoch: Generated<number>
}

/** One row for each of the last versions (`change-row.ts`). */
interface InstanceChangeTable {
  version: string
  changed_at: Date
  /** Null: any user. */
  user_ids: string[] | null
  project_ids: string[]
}

interface ReplicaTable {
  replica_id: string
  host_name: string
  keyturn_version: string
  start_date: Date
  last_seen_date: Date
  /** pg reads a bigint as text. */
  version: string
  versions_behind: string
  /** Null: it has not learned of a change yet. */
  lag_seconds: number | null
  ready: boolean
  reason: string
}
