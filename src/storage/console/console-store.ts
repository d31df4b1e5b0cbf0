/** The `ConsoleStore` on a database: all links and sessions are changed as a whole, which is bounded; sessions are read one by one. */
import { sql } from 'kysely'
import { NO_USER } from '../../domain/changes.ts'
import { LAST_USE_SECONDS, type SignInLink } from '../../domain/console/sign-ins.ts'
import { assertOverInstance } from '../../domain/identities/change-rights.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { ConsoleStore } from '../../domain/ports/console.ts'
import { changeForResult } from '../change/instance-change.ts'
import { readChangeMoment } from '../change/instance-row.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { CLOCK } from '../schema/clock.ts'
import { readLink, readSession, readSessions, readSignIns, writeSignIns } from './sign-in-rows.ts'

/** The links and sessions of a migrated database. */
export function createConsoleStore(database: Database, macs: PublicKeyMacs): ConsoleStore {
  const { db } = database
  return {
    change: (entry, decide) =>
      changeForResult(database, entry, {
        // Under the lock no user is disabled or deleted before the transaction ends.
        read: (trx) => readSignIns(trx, entry.authority.kind === 'system' ? null : entry.authority.userId, macs),
        decidesReach: true,
        // They begin and end by the clock.
        decide: (before, { clock }, right) => {
          const { next, result, replaced = [] } = decide(before, clock)
          const isOwn = ({ userId }: SignInLink) => userId === right?.holder.userId
          const isOthers = (link: SignInLink) => !before.links.includes(link) && !isOwn(link)
          if (right !== undefined && next.links.some(isOthers)) assertOverInstance(right)
          return { next, result, events: [...replaced, {}], changedUsers: NO_USER }
        },
        write: (trx, before, { next }) => writeSignIns(trx, [before, next], macs),
      }),

    listSessions: () =>
      usingStorageWithRetries(async () => {
        const { clock } = await readChangeMoment(db)
        return { ...(await readSessions(db, macs)), clock }
      }),
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
