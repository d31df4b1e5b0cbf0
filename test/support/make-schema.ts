/** Makes the schema in an empty database, as `keyturn migrate` does. */
import { openDatabase } from '../../src/storage/postgres/database.ts'
import { migrate } from '../../src/storage/schema/migrate.ts'
import { createRecordingLog } from './log.ts'

export async function makeSchema(url: string): Promise<void> {
  const database = openDatabase({ url, log: createRecordingLog() })
  try {
    await migrate(database)
  } finally {
    await database.close()
  }
}
