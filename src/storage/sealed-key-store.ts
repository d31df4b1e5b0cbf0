/**
 * The `SealedKeyStore` on a database: the sealed private keys of all web keys. What serves reads the active one alone, elsewhere.
 *
 * Replacing one counts as a change of the instance, although it changes nothing that a replica with an open key would
 * notice: one that could not open the active key tries again.
 */
import type { Transaction } from 'kysely'
import { parseKeyAlgorithm } from '../domain/key-algorithm.ts'
import type { SealedKey, SealedKeyStore } from '../domain/ports.ts'
import type { Database } from './database.ts'
import { changeInstance } from './instance-change.ts'
import { usingStorageRepeatedly } from './storage-errors.ts'
import type { Tables } from './tables.ts'

/** The sealed private keys of a migrated database. */
export function createSealedKeyStore(database: Database): SealedKeyStore {
  return {
    list: () => usingStorageRepeatedly(() => database.db.transaction().execute(readAll)),

    replace: (key, sealedPrivateKey, entry) =>
      changeInstance<string | null, boolean>(database, entry, {
        read: (trx) => readOne(trx, key.keyId),
        datesOf: () => [],
        decide: (before) => before === key.sealedPrivateKey,
        write: async (trx, _before, isSame) => {
          if (isSame) await write(trx, key.keyId, sealedPrivateKey)
          return isSame
        },
      }),
  }
}

async function readAll(trx: Transaction<Tables>): Promise<readonly SealedKey[]> {
  const rows = await trx
    .selectFrom('web_keys')
    .select(['key_id', 'algorithm', 'sealed_private_key'])
    .orderBy('creation_date')
    .orderBy('key_id')
    .execute()
  return rows.flatMap(({ key_id: keyId, algorithm, sealed_private_key: sealedPrivateKey }) =>
    sealedPrivateKey === null ? [] : [{ keyId, algorithm: parseKeyAlgorithm(algorithm), sealedPrivateKey }],
  )
}

async function readOne(trx: Transaction<Tables>, keyId: string): Promise<string | null> {
  const row = await trx
    .selectFrom('web_keys')
    .select('sealed_private_key')
    .where('key_id', '=', keyId)
    .executeTakeFirst()
  return row?.sealed_private_key ?? null
}

async function write(trx: Transaction<Tables>, keyId: string, sealedPrivateKey: string): Promise<void> {
  await trx
    .updateTable('web_keys')
    .set({ sealed_private_key: sealedPrivateKey })
    .where('key_id', '=', keyId)
    .executeTakeFirst()
}
