/**
 * The `ConsoleStore` on a database: all links and sessions are changed as a whole, which is bounded; sessions are read one by one.
 */
import { sql } from 'kysely'
import { LAST_USE_SECONDS, type SignInLink, type SignIns } from '../../domain/console/sign-ins.ts'
import type { ChangeEntry } from '../../domain/identities/authority.ts'
import { assertOverInstance } from '../../domain/identities/change-rights.ts'
import type { ConsoleSecrets } from '../../domain/integrity.ts'
import type { ConsoleStore, SignInsChange } from '../../domain/ports.ts'
import { insertAuditEvent } from '../audit/audit-event-row.ts'
import { changeInstance } from '../instance/instance-change.ts'
import { CLOCK } from '../instance/instance-row.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { readLink, readSession, readSessions, readSignIns, writeSignIns } from './sign-in-rows.ts'

type Dated<T> = SignInsChange<T> & { readonly at: Date }

/** The links and sessions of a migrated database. */
export function createConsoleStore(database: Database, secrets: ConsoleSecrets): ConsoleStore {
  const { db } = database
  return {
    change: async <T>(entry: ChangeEntry, decide: (signIns: SignIns, clock: Date) => SignInsChange<T>): Promise<T> => {
      const { decision } = await changeInstance<SignIns, Dated<T>>(database, entry, {
        read: (trx) => readSignIns(trx, secrets),
        within: {
          changeable: (_right, signIns) => signIns,
          assertAllowed: (right, { before, decision: { next } }) => {
            const isOwn = ({ userId }: SignInLink) => userId === right.holder.userId
            if (!next.links.every((link) => before.links.includes(link) || isOwn(link))) assertOverInstance(right)
          },
        },
        // They begin and end by the clock.
        datesOf: () => [],
        decide: (signIns, { clock, date }) => ({ ...decide(signIns, clock), at: date }),
        write: async (trx, before, { next, replaced = [], at }) => {
          for (const event of replaced) await insertAuditEvent(trx, { ...entry, ...event }, { at })
          return await writeSignIns(trx, [before, next], secrets)
        },
      })
      return decision.result
    },

    listSessions: () => usingStorageWithRetries(() => readSessions(db, secrets)),
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
