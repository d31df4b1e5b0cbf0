/** Makes the schema in an empty database, as `keyturn migrate` does. */
import { openDatabase } from '../../src/storage/postgres/database.ts'
import { migrate } from '../../src/storage/schema/migrate.ts'
import { createRecordingLog } from './log.ts'

/** Where the database is. */
export type Where =
  | { readonly kind: 'embedded'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly url: string }

export async function makeSchema(where: Where): Promise<void> {
  const database = await openDatabase({ ...where, log: createRecordingLog() })
  try {
    await migrate(database)
  } finally {
    await database.close()
  }
}
