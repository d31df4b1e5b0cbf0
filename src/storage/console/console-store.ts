/**
 * The `ConsoleStore` on a database: all links and sessions are changed as a whole, which is bounded; sessions are read one by one.
 */
import { sql } from 'kysely'
import { LAST_USE_SECONDS, type SignInLink, type SignIns } from '../../domain/console/sign-ins.ts'
import type { ChangeEntry } from '../../domain/identities/authority.ts'
import { assertOverInstance } from '../../domain/identities/change-rights.ts'
import { NO_USER } from '../../domain/identities/changed-users.ts'
import type { ConsoleSecrets } from '../../domain/integrity.ts'
import type { ConsoleStore, SignInsChange } from '../../domain/ports/console.ts'
import { insertAuditEvent } from '../audit/audit-event-row.ts'
import { changeInstance } from '../change/instance-change.ts'
import { readChangeMoment } from '../change/instance-row.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { CLOCK } from '../schema/clock.ts'
import { readLink, readSession, readSessions, readSignIns, writeSignIns } from './sign-in-rows.ts'

type Dated<T> = SignInsChange<T> & { readonly at: Date }

type Decide<T> = (signIns: SignIns, clock: Date) => SignInsChange<T>

/** The links and sessions of a migrated database. */
export function createConsoleStore(database: Database, secrets: ConsoleSecrets): ConsoleStore {
  const { db } = database
  return {
    change: async <T>(entry: ChangeEntry, decide: Decide<T>): Promise<T> => {
      const { authority } = entry
      const { decision } = await changeInstance<SignIns, Dated<T>>(database, entry, {
        // Under the lock no user is disabled or deleted before the transaction ends.
        read: (trx) => readSignIns(trx, authority.kind === 'system' ? null : authority.userId, secrets),
        within: {
          changeable: (_right, before) => before,
          assertAllowed: (right, { before, decision: { next } }) => {
            const isOwn = ({ userId }: SignInLink) => userId === right.holder.userId
            if (!next.links.every((link) => before.links.includes(link) || isOwn(link))) assertOverInstance(right)
          },
        },
        changedUsers: () => NO_USER,
        decide: (signIns, { clock, date }) => ({ ...decide(signIns, clock), at: date }),
        write: async (trx, signIns, { next, replaced = [], at }) => {
          for (const event of replaced) await insertAuditEvent(trx, { ...entry, ...event }, { at })
          return await writeSignIns(trx, [signIns, next], secrets)
        },
      })
      return decision.result
    },

    listSessions: () =>
      usingStorageWithRetries(async () => {
        const { clock } = await readChangeMoment(db)
        return { ...(await readSessions(db, secrets)), clock }
      }),
    findLink: (hash) => usingStorageWithRetries(() => readLink(db, hash, secrets)),
    findSession: (key) => usingStorageWithRetries(() => readSession(db, key, secrets)),

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
