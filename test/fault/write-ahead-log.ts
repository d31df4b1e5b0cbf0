/**
 * Brings PostgreSQL to where its log needs another file, without a change of any table.
 */
import { sql } from 'kysely'
import type { Database } from '../../src/storage/postgres/database.ts'

/** More than a file of the log has room for. */
const MESSAGES = 12_000
const MESSAGE_BYTES = 3_000

/** Writes to the log until that fails. The disk must be full. @throws {Error} if it does not fail. */
export async function fillWriteAheadLog({ db }: Database): Promise<void> {
  for (let message = 0; message < MESSAGES; message += 1) {
    try {
      await db.transaction().execute(async (trx) => {
        await sql`select pg_logical_emit_message(true, 'test', repeat('x', ${sql.lit(MESSAGE_BYTES)}))`.execute(trx)
      })
    } catch {
      return
    }
  }
  throw new Error('the log did not need another file')
}
