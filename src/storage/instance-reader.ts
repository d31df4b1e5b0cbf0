/**
 * The `InstanceReader` on a database: every method is one transaction that sees one moment.
 */
import type { Transaction } from 'kysely'
import type { InstanceReader } from '../domain/ports.ts'
import type { Database } from './database.ts'
import { readVersion } from './instance-row.ts'
import { readServiceUsers } from './service-user-row.ts'
import { usingStorageRepeatedly } from './storage-errors.ts'
import type { Tables } from './tables.ts'
import { readKeyRing } from './web-key-row.ts'

/** Reads of a migrated database. */
export function createInstanceReader({ db }: Pick<Database, 'db'>): InstanceReader {
  // REPEATABLE READ: all statements see what the first one saw. PGlite ignores the level and needs none, because it
  // has one connection.
  const snapshot = <T>(read: (trx: Transaction<Tables>) => Promise<T>): Promise<T> =>
    usingStorageRepeatedly(() =>
      db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read),
    )

  return {
    version: () => snapshot(readVersion),

    load: (userIds) =>
      snapshot(async (trx) => ({
        version: await readVersion(trx),
        ring: await readKeyRing(trx),
        sealedActiveKey: await readSealedActiveKey(trx),
        users: await readServiceUsers(trx, userIds),
      })),

    findServiceUser: (userId) =>
      snapshot(async (trx) => ({
        version: await readVersion(trx),
        user: (await readServiceUsers(trx, [userId])).get(userId),
      })),
  }
}

/** Of the private keys only the active one ever leaves the database. */
async function readSealedActiveKey(trx: Transaction<Tables>): Promise<string | null> {
  const row = await trx
    .selectFrom('web_keys')
    .select('sealed_private_key')
    .where('state', '=', 'active')
    .executeTakeFirst()
  return row?.sealed_private_key ?? null
}
