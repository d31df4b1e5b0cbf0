/** What the server of the database is: its version, and whether it is a hot standby, which replays the changes of a primary and can only be read. */
import { type Kysely, sql } from 'kysely'
import { DomainError } from '../../domain/errors.ts'
import type { Tables } from '../schema/tables.ts'
import type { Database } from './database.ts'
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
 * @param missing What has to be done there, as a sentence for the operator.
 * @throws {DomainError} `storage_unavailable` if it is a standby: what is missing arrives when its primary has it.
 */
export async function assertPrimary(db: Kysely<Tables>, missing: string): Promise<void> {
  if (await isStandby(db)) throw new DomainError('storage_unavailable', `the database is a standby, and ${missing}`)
}

/** The version of the server, such as `18.4`. @throws {DomainError} `storage_unavailable`. */
export function readServerVersion({ db }: Database): Promise<string> {
  return usingStorageWithRetries(async () => {
    const { rows } = await sql<{ server_version: string }>`show server_version`.execute(db)
    // Distributions add words of their own.
    return rows[0]?.server_version.split(' ')[0] ?? ''
  })
}
