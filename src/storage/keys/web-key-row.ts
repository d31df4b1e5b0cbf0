/**
 * A web key as a row of `web_keys`, in both directions.
 *
 * A row that is no valid web key, or whose MAC is wrong, is refused, never repaired. The sealed private key is not part of a web
 * key and is not read here.
 */
import { type Selectable, sql, type Transaction } from 'kysely'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import {
  KEY_ALGORITHMS,
  type KeyAlgorithm,
  type PublicJwk,
  parseKeyAlgorithm,
} from '../../domain/keys/key-algorithm.ts'
import type { KeyRing } from '../../domain/keys/key-ring.ts'
import type { KeyPairFacts, WebKey, WebKeyState } from '../../domain/keys/web-key.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'
import { parsePublicJwk } from './public-jwk.ts'

const COLUMNS = [
  'key_id',
  'algorithm',
  'state',
  'public_jwk',
  'creation_date',
  'publication_date',
  'activation_date',
  'deactivation_date',
  'mac',
] as const

type WebKeyRow = Pick<Selectable<Tables['web_keys']>, (typeof COLUMNS)[number]> & {
  readonly has_private_key: boolean
}

/** The columns that change in a transition. */
interface LifeColumns {
  readonly state: WebKeyState
  readonly activation_date: Date | null
  readonly deactivation_date: Date | null
  /** Of an initial key. It stays after the activation. */
  readonly publication_date?: Date | null
}

/**
 * Reads all web keys, oldest first.
 *
 * @throws {UnreadableRow} if a row is no valid web key, or its MAC is wrong; the message names the key and the mistake.
 */
export async function readKeyRing(trx: Transaction<Tables>, macs: PublicKeyMacs): Promise<KeyRing> {
  const rows = await trx
    .selectFrom('web_keys')
    .select([...COLUMNS, sql<boolean>`sealed_private_key is not null`.as('has_private_key')])
    .orderBy('creation_date')
    .orderBy('key_id')
    .execute()
  return rows.map((row) => toWebKey(row, macs))
}

/** The state and the dates of a key as columns. */
export function toLifeColumns(key: WebKey): LifeColumns {
  return {
    state: key.state,
    activation_date: key.state === 'initial' ? null : key.activatedAt,
    deactivation_date: key.state === 'inactive' ? key.deactivatedAt : null,
    ...(key.state === 'initial' ? { publication_date: key.publishedAt } : {}),
  }
}

export function toNewRow(key: WebKey, sealedPrivateKey: string, macs: PublicKeyMacs) {
  return {
    key_id: key.keyId,
    algorithm: key.algorithm,
    public_jwk: JSON.stringify(key.publicJwk),
    sealed_private_key: sealedPrivateKey,
    creation_date: key.createdAt,
    mac: macs.of('webKeys', key),
    ...toLifeColumns(key),
  }
}

/** @throws {UnreadableRow} if the row is not valid, or its MAC is wrong. */
function toWebKey(row: WebKeyRow, macs: PublicKeyMacs): WebKey {
  return readRow('web_key', row.key_id, `web key ${row.key_id}`, () => {
    const facts = toFacts(row)
    macs.assert('webKeys', facts, row.mac)
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

/** The facts of a published or revoked key. The MAC is not checked here. @throws {Error} */
export function toFacts(row: KeyPairRow & Pick<WebKeyRow, 'creation_date'>) {
  return { ...toKeyPairFacts(row), createdAt: row.creation_date }
}

type KeyPairRow = Pick<WebKeyRow, 'key_id' | 'algorithm' | 'public_jwk'>

/** The facts of the key pair. @throws {Error} */
function toKeyPairFacts(row: KeyPairRow): KeyPairFacts {
  const algorithm = parseKeyAlgorithm(row.algorithm)
  return { keyId: row.key_id, algorithm, publicJwk: toPublicJwk(row.public_jwk, algorithm) }
}

function toPublicJwk(json: unknown, algorithm: KeyAlgorithm): PublicJwk {
  const jwk = parsePublicJwk(json)
  const facts = KEY_ALGORITHMS[algorithm]
  if (jwk.kty !== facts.kty) throw new Error(`public_jwk is no ${facts.kty} key as ${algorithm} needs`)
  if (jwk.kty !== 'RSA' && facts.kty !== 'RSA' && jwk.crv !== facts.crv) {
    throw new Error(`public_jwk is not on ${facts.crv} as ${algorithm} needs`)
  }
  return jwk
}
