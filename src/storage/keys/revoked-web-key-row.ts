/**
 * The tombstone of a revoked web key, a row of `revoked_web_keys`, in both directions.
 */
import type { Selectable, Transaction } from 'kysely'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { RevokedWebKey } from '../../domain/keys/web-key.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'
import { toFacts, toPairColumns } from './web-key-row.ts'

const MAX_LISTED = 1000

/** The last revoked keys, ordered by creation date, oldest first. @throws {UnreadableRow} */
export async function readRevokedWebKeys(
  trx: Transaction<Tables>,
  macs: PublicKeyMacs,
): Promise<readonly RevokedWebKey[]> {
  const rows = await trx
    .selectFrom('revoked_web_keys')
    .selectAll()
    .orderBy('revocation_date', 'desc')
    .orderBy('key_id')
    .limit(MAX_LISTED)
    .execute()
  return rows.map((row) => fromRevokedRow(row, macs)).sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
}

/** A revoked key, or undefined. @throws {UnreadableRow} */
export async function readRevokedWebKey(
  trx: Transaction<Tables>,
  keyId: string,
  macs: PublicKeyMacs,
): Promise<RevokedWebKey | undefined> {
  // PostgreSQL refuses text with this character.
  if (keyId.includes('\0')) return undefined
  const row = await trx.selectFrom('revoked_web_keys').selectAll().where('key_id', '=', keyId).executeTakeFirst()
  return row === undefined ? undefined : fromRevokedRow(row, macs)
}

function fromRevokedRow(row: Selectable<Tables['revoked_web_keys']>, macs: PublicKeyMacs): RevokedWebKey {
  return readRow('revoked_web_key', row.key_id, `revoked web key ${row.key_id}`, () => {
    return {
      ...toFacts('revokedWebKeys', row, macs),
      state: 'revoked',
      activatedAt: row.activation_date,
      deactivatedAt: row.deactivation_date,
      revokedAt: row.revocation_date,
    }
  })
}

/** A whole row. */
export function toRevokedRow(key: RevokedWebKey, macs: PublicKeyMacs) {
  return {
    ...toPairColumns('revokedWebKeys', key, macs),
    creation_date: key.createdAt,
    activation_date: key.activatedAt,
    deactivation_date: key.deactivatedAt,
    revocation_date: key.revokedAt,
  }
}
