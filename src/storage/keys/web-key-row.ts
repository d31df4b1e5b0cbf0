/**
 * A web key as a row of `web_keys`, in both directions.
 *
 * A row that is no valid web key, or whose MAC is wrong, is refused, never repaired. The sealed private key is not part of a web
 * key and is not read here.
 */
import { type Selectable, sql, type Transaction } from 'kysely'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { type PublicJwk, parseKeyAlgorithm } from '../../domain/keys/key-algorithm.ts'
import type { KeyRing } from '../../domain/keys/key-ring.ts'
import type { KeyPairFacts, WebKey } from '../../domain/keys/web-key.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'

type WebKeyRow = Omit<Selectable<Tables['web_keys']>, 'sealed_private_key'> & { readonly has_private_key: boolean }

/**
 * Reads all web keys, oldest first.
 *
 * @throws {UnreadableRow} if a row is no valid web key, or its MAC is wrong; the message names the key and the mistake.
 */
export async function readKeyRing(trx: Transaction<Tables>, macs: PublicKeyMacs): Promise<KeyRing> {
  const rows = await trx
    .selectFrom('web_keys')
    .select(['key_id', 'algorithm', 'state', 'public_jwk', 'creation_date', 'publication_date', 'activation_date'])
    .select(['deactivation_date', 'mac', sql<boolean>`sealed_private_key is not null`.as('has_private_key')])
    .orderBy('creation_date')
    .orderBy('key_id')
    .execute()
  return rows.map((row) => toWebKey(row, macs))
}

/** The state and the dates of a key as columns. */
export function toLifeColumns(key: WebKey) {
  return {
    state: key.state,
    activation_date: key.state === 'initial' ? null : key.activatedAt,
    deactivation_date: key.state === 'inactive' ? key.deactivatedAt : null,
    // It stays after the activation.
    ...(key.state === 'initial' ? { publication_date: key.publishedAt } : {}),
  }
}

export function toNewRow(key: WebKey, sealedPrivateKey: string, macs: PublicKeyMacs) {
  return {
    ...toPairColumns('webKeys', key, macs),
    sealed_private_key: sealedPrivateKey,
    creation_date: key.createdAt,
    ...toLifeColumns(key),
  }
}

type KeyKind = 'webKeys' | 'revokedWebKeys'

/** The key pair of a web key, or of the record of a revoked one, as columns. */
export function toPairColumns(kind: KeyKind, { keyId, algorithm, publicJwk }: KeyPairFacts, macs: PublicKeyMacs) {
  const publicJson = JSON.stringify(publicJwk)
  return { key_id: keyId, algorithm, public_jwk: publicJson, mac: macs.of(kind, [keyId, algorithm, publicJson]) }
}

type FactsRow = Pick<WebKeyRow, 'key_id' | 'algorithm' | 'public_jwk' | 'creation_date' | 'mac'>

/** The facts of a web key, or of a revoked one. @throws {Error} if the MAC is wrong. */
export function toFacts(kind: KeyKind, row: FactsRow, macs: PublicKeyMacs) {
  const { key_id: keyId, algorithm, public_jwk: publicJson, creation_date: createdAt } = row
  macs.assert(kind, [keyId, algorithm, publicJson], row.mac)
  // The MAC proves that it is what was written.
  const publicJwk: PublicJwk = JSON.parse(publicJson)
  return { keyId, algorithm: parseKeyAlgorithm(algorithm), publicJwk, createdAt }
}

/** @throws {UnreadableRow} if the row is not valid, or its MAC is wrong. */
function toWebKey(row: WebKeyRow, macs: PublicKeyMacs): WebKey {
  return readRow('web_key', row.key_id, `web key ${row.key_id}`, () => {
    const facts = toFacts('webKeys', row, macs)
    const { state, activation_date: activatedAt, deactivation_date: deactivatedAt } = row
    if (state === 'initial' && activatedAt === null && deactivatedAt === null) {
      return { ...facts, state, publishedAt: row.publication_date }
    }
    if (state === 'active' && activatedAt !== null && deactivatedAt === null) return { ...facts, state, activatedAt }
    if (state === 'inactive' && activatedAt !== null && deactivatedAt !== null) {
      return { ...facts, state, activatedAt, deactivatedAt, hasPrivateKey: row.has_private_key }
    }
    throw new Error(`state ${JSON.stringify(state)} does not go with its dates`)
  })
}
