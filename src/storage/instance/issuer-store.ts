/** The `IssuerStore` on a database: a column of the instance. */
import type { Kysely } from 'kysely'
import type { IssuerStore } from '../../domain/ports/instance.ts'
import { changeForResult } from '../change/instance-change.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import type { Tables } from '../schema/tables.ts'

export function createIssuerStore(database: Database): IssuerStore {
  return {
    find: () => usingStorageWithRetries(() => readIssuer(database.db)),

    change: (entry, decide) =>
      changeForResult(database, entry, {
        read: readIssuer,
        decide: (before) => ({ result: decide(before) }),
        write: async (trx, before, { result: issuer }) => {
          if (issuer === before) return false
          await trx.updateTable('instance').set({ issuer }).where('id', '=', 1).execute()
          return true
        },
      }),
  }
}

async function readIssuer(db: Kysely<Tables>): Promise<string | null> {
  const row = await db.selectFrom('instance').select('issuer').where('id', '=', 1).executeTakeFirstOrThrow()
  return row.issuer
}
