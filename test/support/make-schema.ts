/** Makes the schema in an empty database, as `keyturn migrate` does. */

import { migrate } from '../../src/storage/migrations/migrate.ts'
import { openDatabase } from '../../src/storage/postgres/database.ts'
import { eventually } from './eventually.ts'
import { createRecordingLog } from './log.ts'

export async function makeSchema(url: string): Promise<void> {
  const database = openDatabase({ url, log: createRecordingLog() })
  try {
    // A process that stands still for two seconds loses its transaction, and nothing of it is stored.
    await eventually(() => migrate(database))
  } finally {
    await database.close()
  }
}
