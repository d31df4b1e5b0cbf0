/** Sign-in links and sessions of the console as rows, in both directions. A row whose MAC is wrong is refused, never repaired. */
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { ConsoleSession, Sessions, SignInLink, SignIns, UnreadableSession } from '../../domain/console/sign-ins.ts'
import { UnreadableRow } from '../../domain/errors.ts'
import type { SessionOrigin } from '../../domain/identities/authority.ts'
import { parseInstanceRole } from '../../domain/identities/permission.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { ReadAt } from '../../domain/ports/console.ts'
import { CLOCK } from '../schema/clock.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'
import { bytea, writeRows } from '../schema/write-rows.ts'

/** All links and sessions with their users, and one user more. @throws {UnreadableRow} if the MAC of a link is wrong. */
export async function readSignIns(db: Kysely<Tables>, userId: string | null, macs: PublicKeyMacs): Promise<SignIns> {
  const rows = await db.selectFrom('sign_in_links').selectAll().execute()
  const links = rows.map((row) => toLink(row, macs))
  const found = await readSessions(db, macs)
  const userIds = [...links, ...found.sessions].map((signIn) => signIn.userId)
  return { links, ...found, users: await readUsers(db, userId === null ? userIds : [...userIds, userId]) }
}

async function readUsers(db: Kysely<Tables>, userIds: readonly string[]): Promise<SignIns['users']> {
  const users = await db
    .selectFrom('service_users as u')
    .where(sql<boolean>`u.user_id = any(${userIds}::uuid[])`)
    .select(['u.user_id', 'u.enabled', 'u.project_id', 'u.instance_roles'])
    .execute()
  return new Map(
    users.map(({ user_id, enabled, project_id: projectId, instance_roles: roles }) => {
      return [user_id, { enabled, projectId, instanceRoles: roles.map(parseInstanceRole) }]
    }),
  )
}

/** All sessions, oldest first. One row with a wrong MAC must not hide the others, nor keep people from signing in. */
export async function readSessions(db: Kysely<Tables>, macs: PublicKeyMacs): Promise<Sessions> {
  const query = db.selectFrom('console_sessions').selectAll().orderBy('creation_date').orderBy('session_id')
  const sessions: ConsoleSession[] = []
  const unreadable: UnreadableSession[] = []
  for (const row of await query.execute()) {
    try {
      sessions.push(toSession(row, macs))
    } catch (error) {
      if (!(error instanceof UnreadableRow)) throw error
      unreadable.push({ sessionId: row.session_id })
    }
  }
  return { sessions, unreadable }
}

/** @throws {UnreadableRow} */
export async function readLink(
  db: Kysely<Tables>,
  hash: Uint8Array,
  macs: PublicKeyMacs,
): Promise<({ readonly link: SignInLink } & ReadAt) | undefined> {
  const query = db.selectFrom('sign_in_links').selectAll().select(CLOCK.as('clock'))
  const row = await query.where('hash', '=', hash).executeTakeFirst()
  return row === undefined ? undefined : { link: toLink(row, macs), clock: row.clock }
}

/** @param key The hash of its cookie, or its id. @throws {UnreadableRow} */
export async function readSession(
  db: Kysely<Tables>,
  key: Uint8Array | string,
  macs: PublicKeyMacs,
): Promise<({ readonly session: ConsoleSession } & ReadAt) | undefined> {
  const query = db.selectFrom('console_sessions').selectAll().select(CLOCK.as('clock'))
  const row = await (typeof key === 'string'
    ? query.where('session_id', '=', key)
    : query.where('hash', '=', key)
  ).executeTakeFirst()
  return row === undefined ? undefined : { session: toSession(row, macs), clock: row.clock }
}

/** Writes the difference, and returns whether there is one. Last uses are not written: `ConsoleStore.recordUse` has a statement of its own. */
export async function writeSignIns(
  trx: Transaction<Tables>,
  [before, next]: readonly [before: SignIns, next: SignIns],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const bySessionId = { table: 'console_sessions', key: ['session_id'] } as const
  const written = [
    await writeRows(trx, { table: 'sign_in_links', key: ['hash'], rows: (link) => [toLinkRow(link, macs)] }, [
      before.links,
      next.links,
    ]),
    await writeRows(trx, { ...bySessionId, rows: (session) => [toSessionRow(session, macs)] }, [
      before.sessions,
      next.sessions,
    ]),
    await writeRows(trx, { ...bySessionId, rows: ({ sessionId }) => [{ session_id: sessionId }] }, [
      before.unreadable,
      next.unreadable,
    ]),
  ]
  return written.includes(true)
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
