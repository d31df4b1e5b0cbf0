/**
 * The version of the database's server.
 */
import { sql } from 'kysely'
import type { Database } from './database.ts'
import { usingStorageWithRetries } from './storage-errors.ts'

/** Reads it, such as `18.4`. @throws {DomainError} `storage_unavailable`. */
export function readServerVersion({ db }: Database): Promise<string> {
  return usingStorageWithRetries(async () => {
    const { rows } = await sql<{ server_version: string }>`show server_version`.execute(db)
    // Distributions add words of their own.
    return rows[0]?.server_version.split(' ')[0] ?? ''
  })
}
