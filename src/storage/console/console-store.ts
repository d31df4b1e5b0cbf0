/** The `ConsoleStore` on a database: those of a user are changed as a whole; sessions are read one by one. */
import { sql } from 'kysely'
import { NO_USER } from '../../domain/changes.ts'
import { assertEndable, LAST_USE_SECONDS, resourceOf } from '../../domain/console/sign-ins.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { ConsoleStore } from '../../domain/ports/console.ts'
import { changeForResult } from '../change/instance-change.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { CLOCK } from '../schema/clock.ts'
import {
  deleteEndedSignIns,
  readAnySession,
  readLink,
  readSession,
  readSessions,
  readSignIns,
  writeSignIns,
} from './sign-in-rows.ts'

/** The links and sessions of a migrated database. */
export function createConsoleStore(database: Database, macs: PublicKeyMacs): ConsoleStore {
  const { db } = database
  return {
    change: (entry, decide) =>
      changeForResult(database, entry, {
        // Under the lock no user is disabled or deleted before the transaction ends.
        read: (trx) => readSignIns(trx, entry.authority.userId, macs),
        // Every user has a right over itself.
        decidesReach: true,
        // They begin and end by the clock.
        decide: (before, { clock }) => {
          const { next, result, replaced = [] } = decide(before, clock)
          return { next, result, events: [...replaced, {}], changedUsers: NO_USER }
        },
        write: async (trx, before, { next }) => {
          await deleteEndedSignIns(trx)
          return await writeSignIns(trx, [before, next], macs)
        },
      }),

    endSession: (entry, sessionId) =>
      changeForResult(
        database,
        { ...entry, resource: '' },
        {
          read: (trx) => readAnySession(trx, sessionId, macs),
          decide: (session, { clock }) => {
            assertEndable(session, clock)
            return { result: undefined, events: [{ resource: resourceOf(session) }], changedUsers: NO_USER }
          },
          write: async (trx) => {
            await trx.deleteFrom('console_sessions').where('session_id', '=', sessionId).execute()
            return true
          },
        },
      ),

    listSessions: (page) => usingStorageWithRetries(() => readSessions(db, page, macs)),
    findLink: (hash) => usingStorageWithRetries(() => readLink(db, hash, macs)),
    findSession: (key) => usingStorageWithRetries(() => readSession(db, key, macs)),

    recordUse: (sessionId) =>
      usingStorageWithRetries(async () => {
        const due = sql<Date>`${CLOCK} - make_interval(secs => ${sql.lit(LAST_USE_SECONDS)})`
        await db
          .updateTable('console_sessions')
          .set({ last_use_date: CLOCK })
          .where('session_id', '=', sessionId)
          .where('last_use_date', '<=', due)
          .execute()
      }),
  }
}
