/**
 * Web keys and their rotation.
 */
import type { ColumnType } from 'kysely'

export interface KeyTables {
  web_keys: WebKeyTable
  revoked_web_keys: RevokedWebKeyTable
  rotation: RotationTable
}

interface WebKeyTable {
  key_id: string
  algorithm: string
  state: string
  /** Written as JSON text, read parsed. */
  public_jwk: ColumnType<unknown, string, never>
  /** Null: destroyed. */
  sealed_private_key: string | null
  creation_date: ColumnType<Date, Date, never>
  /** Null: not seen committed yet, or never initial. */
  publication_date: ColumnType<Date | null, Date | null | undefined>
  activation_date: Date | null
  deactivation_date: Date | null
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

interface RevokedWebKeyTable {
  key_id: string
  algorithm: string
  /** Written as JSON text, read parsed. */
  public_jwk: ColumnType<unknown, string, never>
  creation_date: ColumnType<Date, Date, never>
  activation_date: Date | null
  deactivation_date: Date | null
  revocation_date: Date
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

/** One row. Times are in seconds. */
interface RotationTable {
  id: number
  enabled: boolean
  kind: string
  bits: number | null
  hasher: string | null
  curve: string | null
  rotation_interval: number
  publish_ahead: number
  retention: number
  rollback_window: number
  keep_standby: boolean
  request_date: Date | null
}
