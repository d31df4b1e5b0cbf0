/** Sign-in links and sessions of the console as rows, in both directions. A row whose MAC is wrong is refused, never repaired. */
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { AnySession, ConsoleSession, SignInLink, SignIns } from '../../domain/console/sign-ins.ts'
import { UnreadableRow } from '../../domain/errors.ts'
import { SESSION_IDLE_SECONDS, type SessionOrigin } from '../../domain/identities/authority.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { SessionCursor } from '../../domain/ports/console.ts'
import type { Page } from '../../domain/ports/identities.ts'
import { CLOCK } from '../schema/clock.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'
import { bytea, writeRows } from '../schema/write-rows.ts'

/** Those of a user. A session that cannot be read must not keep the user from signing in. @throws {UnreadableRow} if the MAC of a link is wrong. */
export async function readSignIns(db: Kysely<Tables>, userId: string, macs: PublicKeyMacs): Promise<SignIns> {
  const links = await db.selectFrom('sign_in_links').selectAll().where('user_id', '=', userId).execute()
  const sessions = await db.selectFrom('console_sessions').selectAll().where('user_id', '=', userId).execute()
  const user = db.selectFrom('service_users').select('enabled').where('user_id', '=', userId)
  return {
    userId,
    isEnabled: (await user.executeTakeFirst())?.enabled === true,
    links: links.map((row) => toLink(row, macs)),
    sessions: sessions.map((row) => toAnySession(row, macs)).filter((session) => 'userId' in session),
  }
}

/** Whether a session has ended, or says so. */
const HAS_ENDED = sql<boolean>`
  (expiration_date <= ${CLOCK} or last_use_date <= ${CLOCK} - make_interval(secs => ${sql.lit(SESSION_IDLE_SECONDS)}))`

/** A page of the open sessions of all users, oldest first. */
export async function readSessions(
  db: Kysely<Tables>,
  { after, limit }: Page<SessionCursor>,
  macs: PublicKeyMacs,
): Promise<readonly AnySession[]> {
  let query = db.selectFrom('console_sessions').selectAll().where(sql<boolean>`not ${HAS_ENDED}`)
  if (after !== null) {
    query = query.where(sql<boolean>`(creation_date, session_id) > (${after.createdAt}, ${after.sessionId})`)
  }
  const rows = await query.orderBy('creation_date').orderBy('session_id').limit(limit).execute()
  return rows.map((row) => toAnySession(row, macs))
}

/** The session with an id, readable or not. */
export async function readAnySession(
  db: Kysely<Tables>,
  sessionId: string,
  macs: PublicKeyMacs,
): Promise<AnySession | undefined> {
  const row = await db.selectFrom('console_sessions').selectAll().where('session_id', '=', sessionId).executeTakeFirst()
  return row && toAnySession(row, macs)
}

/** @throws {UnreadableRow} */
export async function readLink(
  db: Kysely<Tables>,
  hash: Uint8Array,
  macs: PublicKeyMacs,
): Promise<SignInLink | undefined> {
  const row = await db.selectFrom('sign_in_links').selectAll().where('hash', '=', hash).executeTakeFirst()
  return row && toLink(row, macs)
}

/** @param key The hash of its cookie, or its id. @throws {UnreadableRow} */
export async function readSession(
  db: Kysely<Tables>,
  key: Uint8Array | string,
  macs: PublicKeyMacs,
): Promise<ConsoleSession | undefined> {
  const query = db.selectFrom('console_sessions').selectAll()
  const found = typeof key === 'string' ? query.where('session_id', '=', key) : query.where('hash', '=', key)
  const row = await found.executeTakeFirst()
  return row && toSession(row, macs)
}

/**
 * Writes the difference, and returns whether there is one. Last uses are not written: `ConsoleStore.recordUse` has a statement of its own.
 */
export async function writeSignIns(
  trx: Transaction<Tables>,
  [before, next]: readonly [before: SignIns, next: SignIns],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const links = { table: 'sign_in_links', key: ['hash'], rows: (link: SignInLink) => [toLinkRow(link, macs)] } as const
  const rows = (session: ConsoleSession) => [toSessionRow(session, macs)]
  const sessions = { table: 'console_sessions', key: ['session_id'], rows } as const
  const written = [
    await writeRows(trx, links, [before.links, next.links]),
    await writeRows(trx, sessions, [before.sessions, next.sessions]),
  ]
  return written.includes(true)
}

/** Deletes what has ended, of all users. */
export async function deleteEndedSignIns(trx: Transaction<Tables>): Promise<void> {
  await trx.deleteFrom('sign_in_links').where('expiration_date', '<=', CLOCK).execute()
  await trx.deleteFrom('console_sessions').where(HAS_ENDED).execute()
}

/** Ends what users have at the console. */
export async function deleteSignInsOf(trx: Transaction<Tables>, userIds: readonly string[]): Promise<void> {
  const ofThem = sql<boolean>`user_id = any(${userIds}::uuid[])`
  await trx.deleteFrom('sign_in_links').where(ofThem).execute()
  await trx.deleteFrom('console_sessions').where(ofThem).execute()
}

function toLink(row: Selectable<Tables['sign_in_links']>, macs: PublicKeyMacs): SignInLink {
  // Its hash is the only name that it has.
  return readRow('sign_in_link', '', 'a sign-in link', () => {
    const { hash, user_id: userId, creation_date: createdAt, expiration_date: expiresAt } = row
    const link = { hash, userId, origin: parseOrigin(row.origin), createdAt, expiresAt }
    macs.assert('signInLinks', textsOf(link), row.mac)
    return link
  })
}

function toLinkRow(link: SignInLink, macs: PublicKeyMacs) {
  return {
    hash: bytea(link.hash),
    user_id: link.userId,
    origin: JSON.stringify(link.origin),
    creation_date: link.createdAt,
    expiration_date: link.expiresAt,
    mac: bytea(macs.of('signInLinks', textsOf(link))),
  }
}

/** One row with a wrong MAC does not hide the others. */
function toAnySession(row: Selectable<Tables['console_sessions']>, macs: PublicKeyMacs): AnySession {
  try {
    return toSession(row, macs)
  } catch (error) {
    if (!(error instanceof UnreadableRow)) throw error
    return { sessionId: row.session_id, createdAt: row.creation_date }
  }
}

function toSession(row: Selectable<Tables['console_sessions']>, macs: PublicKeyMacs): ConsoleSession {
  return readRow('console_session', row.session_id, `session ${row.session_id} of the console`, () => {
    const session = {
      sessionId: row.session_id,
      hash: row.hash,
      userId: row.user_id,
      origin: parseOrigin(row.origin),
      clientAddress: row.client_address,
      createdAt: row.creation_date,
      expiresAt: row.expiration_date,
      lastUsedAt: row.last_use_date,
    }
    macs.assert('consoleSessions', sessionTextsOf(session), row.mac)
    return session
  })
}

function toSessionRow(session: ConsoleSession, macs: PublicKeyMacs) {
  return {
    session_id: session.sessionId,
    hash: bytea(session.hash),
    user_id: session.userId,
    origin: JSON.stringify(session.origin),
    client_address: session.clientAddress,
    creation_date: session.createdAt,
    expiration_date: session.expiresAt,
    last_use_date: session.lastUsedAt,
    mac: bytea(macs.of('consoleSessions', sessionTextsOf(session))),
  }
}

/** What the MAC of a link covers. */
function textsOf({ hash, userId, origin, createdAt, expiresAt }: SignInLink): readonly string[] {
  const dates = [createdAt.toISOString(), expiresAt.toISOString()]
  return [bytea(hash), userId, JSON.stringify(origin), ...dates]
}

/** All but the last use. */
function sessionTextsOf(session: ConsoleSession): readonly string[] {
  return [session.sessionId, session.clientAddress, ...textsOf(session)]
}

/** The MAC of the row proves the rest. */
function parseOrigin(json: string): SessionOrigin {
  return JSON.parse(json, (name, value) => (name === 'expiresAt' ? new Date(value) : value))
}
