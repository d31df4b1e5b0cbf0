/**
 * Reads of which each statement sees what the first one saw.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { usingStorageWithRetries } from './storage-errors.ts'

/** Reads in a transaction of its own, REPEATABLE READ and READ ONLY. It may run more than once. @throws {DomainError} `storage_unavailable`. */
export function readSnapshot<T>(db: Kysely<Tables>, read: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
  return usingStorageWithRetries(() =>
    db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read),
  )
}
