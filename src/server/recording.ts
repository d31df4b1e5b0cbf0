/**
 * Makes the stores of what a replica records besides changes of the instance (see `record-target.ts`).
 */
import type { RecordTarget } from '../app/replica/record-target.ts'
import type { Database } from '../storage/postgres/database.ts'

/** What the stores write to. */
export interface RecordingOptions {
  readonly database: Database
  /** Of the primary region, for a replica on a standby; null if none is configured. */
  readonly primaryDatabase: Database | null
  readonly records: RecordTarget
}

/** A store that writes to the database of this replica or, while that is a standby, to its primary. */
export function recording<Store extends object>(
  { database, primaryDatabase, records }: RecordingOptions,
  make: (database: Database) => Store,
): Store {
  return records.around(make(database), primaryDatabase === null ? null : make(primaryDatabase))
}
