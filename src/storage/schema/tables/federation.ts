/**
 * Trusted issuers, their keys, and the users whom they name.
 */
import type { ColumnType, Generated } from 'kysely'

export interface FederationTables {
  trusted_issuers: TrustedIssuerTable
  federated_identities: FederatedIdentityTable
}

interface TrustedIssuerTable {
  issuer_id: string
  issuer: string
  /** Written as JSON text, read parsed. */
  keys: ColumnType<unknown, string, string>
  algorithms: string[]
  /** In seconds. */
  max_lifetime: number
  creation_date: ColumnType<Date, Date, never>
  key_source: Generated<string>
  key_url: ColumnType<string | null, string | null | undefined>
  /** PEM. */
  ca_certificates: ColumnType<string | null, string | null | undefined>
  /** In seconds. Null: the keys are given. */
  max_key_staleness: ColumnType<number | null, number | null | undefined>
  mac: Uint8Array
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: ColumnType<string | null, string | null | undefined>
}

interface FederatedIdentityTable {
  identity_id: string
  user_id: string
  issuer_id: string
  subject: string
  audience: string | null
  /** Written as JSON text, read parsed. */
  claims: ColumnType<unknown, string, never>
  creation_date: Date
  mac: ColumnType<Uint8Array, Uint8Array, never>
}
