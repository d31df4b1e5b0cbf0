/** The `IssuerStore` on a database: a column of the instance. */
import type { Kysely } from 'kysely'
import type { IssuerStore } from '../../domain/ports/instance.ts'
import { changeInstance, type Decided } from '../change/instance-change.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import type { Tables } from '../schema/tables.ts'

interface Decision extends Decided {
  readonly issuer: string
}

export function createIssuerStore(database: Database): IssuerStore {
  return {
    find: () => usingStorageWithRetries(() => readIssuer(database.db)),

    change: async (entry, decide) => {
      const { decision } = await changeInstance<string | null, Decision>(database, entry, {
        read: readIssuer,
        decide: (before) => ({ issuer: decide(before) }),
        write: async (trx, before, { issuer }) => {
          if (issuer === before) return false
          await trx.updateTable('instance').set({ issuer }).where('id', '=', 1).execute()
          return true
        },
      })
      return decision.issuer
    },
  }
}

async function readIssuer(db: Kysely<Tables>): Promise<string | null> {
  const row = await db.selectFrom('instance').select('issuer').where('id', '=', 1).executeTakeFirstOrThrow()
  return row.issuer
}
