/**
 * The `AuditExports` on a database: one row for each kind of export.
 */
import { sql } from 'kysely'
import type { AuditExports } from '../../domain/ports/audit.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { CLOCK } from '../schema/clock.ts'

/** @param name Of the export. */
export function createAuditExports({ db }: Pick<Database, 'db'>, name: string): AuditExports {
  const leaseOf = (milliseconds: number) => sql<Date>`${CLOCK} + make_interval(secs => ${milliseconds / 1000})`
  return {
    acquire: (holder, leaseMillis) =>
      usingStorageWithRetries(() =>
        db
          .insertInto('audit_exports')
          .values({ name, holder, position: null, lease_date: leaseOf(leaseMillis) })
          .onConflict((conflict) =>
            conflict
              .column('name')
              .doUpdateSet({ holder, lease_date: leaseOf(leaseMillis) })
              .where((eb) =>
                eb.or([eb('audit_exports.holder', '=', holder), eb('audit_exports.lease_date', '<=', CLOCK)]),
              ),
          )
          .returning('position')
          .executeTakeFirst(),
      ),

    advance: (holder, position, leaseMillis) =>
      usingStorageWithRetries(async () => {
        const { numUpdatedRows } = await db
          .updateTable('audit_exports')
          .set({ position, lease_date: leaseOf(leaseMillis) })
          .where('name', '=', name)
          .where('holder', '=', holder)
          .executeTakeFirstOrThrow()
        return numUpdatedRows > 0n
      }),

    release: (holder) =>
      usingStorageWithRetries(async () => {
        await db
          .updateTable('audit_exports')
          .set({ holder: null, lease_date: CLOCK })
          .where('name', '=', name)
          .where('holder', '=', holder)
          .execute()
      }),
  }
}
