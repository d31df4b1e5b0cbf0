/**
 * The credentials of service users, and what of their use is recorded.
 */
import type { ColumnType } from 'kysely'

export interface CredentialTables {
  client_secrets: ClientSecretTable
  user_keys: UserKeyTable
  personal_access_tokens: PersonalAccessTokenTable
  client_certificates: ClientCertificateTable
  revoked_tokens: RevokedTokenTable
  used_assertions: UsedAssertionTable
  expiry_notices: ExpiryNoticeTable
}

interface ClientSecretTable {
  secret_id: string
  user_id: string
  hash: Uint8Array
  creation_date: Date
  expiration_date: Date | null
  deactivation_date: Date | null
  last_use_date: ColumnType<Date | null, Date | null | undefined>
}

interface UserKeyTable {
  key_id: string
  user_id: string
  /** Written as JSON text, read parsed. */
  public_jwk: ColumnType<unknown, string, never>
  creation_date: Date
  expiration_date: Date | null
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

interface PersonalAccessTokenTable {
  token_id: string
  user_id: string
  hash: Uint8Array
  creation_date: Date
  expiration_date: Date
}

interface ClientCertificateTable {
  certificate_id: string
  user_id: string
  match: string
  value: string
  creation_date: Date
  expiration_date: Date | null
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

interface RevokedTokenTable {
  user_id: string
  token_id: string
  expiration_date: Date
}

interface UsedAssertionTable {
  id: string
  expiration_date: Date
}

/** A credential whose expiry was announced, so many days before. */
interface ExpiryNoticeTable {
  credential_id: string
  days: number
  expiration_date: Date
}
