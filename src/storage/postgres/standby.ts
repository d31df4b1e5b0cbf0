/**
 * Hot standbys: servers that replay the changes of a primary and can only be read.
 */
import { type Kysely, sql } from 'kysely'
import { DomainError } from '../../domain/errors.ts'
import type { Tables } from '../schema/tables.ts'
import { usingStorageWithRetries } from './storage-errors.ts'

/** Whether the server is a standby. It is not one any more when its promotion is complete. */
export const IN_RECOVERY = sql<boolean>`pg_is_in_recovery()`

export async function isStandby(db: Kysely<Tables>): Promise<boolean> {
  const { in_recovery } = await usingStorageWithRetries(() =>
    db.selectNoFrom(IN_RECOVERY.as('in_recovery')).executeTakeFirstOrThrow(),
  )
  return in_recovery
}

/**
 * Asserts that the database can be written to, before something that only its primary can do.
 *
 * @param missing What has to be done there, as a sentence for the operator.
 * @throws {DomainError} `storage_unavailable` if it is a standby: what is missing arrives when its primary has it.
 */
export async function assertPrimary(db: Kysely<Tables>, missing: string): Promise<void> {
  if (await isStandby(db)) throw new DomainError('storage_unavailable', `the database is a standby, and ${missing}`)
}
