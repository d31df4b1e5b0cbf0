/**
 * Sign-in links and sessions that began earlier, as a server with the integrity key would have written them.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { SessionOrigin } from '../../src/domain/identities/authority.ts'
import type { Integrity } from '../../src/domain/integrity.ts'
import type { Database } from '../../src/storage/postgres/database.ts'

/** Where, and by what servers believe the rows. */
interface Seeding {
  readonly database: Database
  readonly integrity: Pick<Integrity, 'secrets' | 'publicKeys'>
}

/** The dates, in seconds from now; negative ones are in the past. */
interface SessionAge {
  readonly created: number
  readonly expires: number
  readonly lastUse: number
}

const OPENID = { kind: 'openid_provider' } as const

/** A link. @returns Its code. */
export async function seedLink({ database, integrity }: Seeding, userId: string, expiresIn: number): Promise<string> {
  const { secret: code, hash } = integrity.secrets.signInCodes.generate()
  const link = { hash, userId, origin: OPENID, createdAt: fromNow(expiresIn - 60), expiresAt: fromNow(expiresIn) }
  await database.db
    .insertInto('sign_in_links')
    .values({
      hash,
      user_id: userId,
      origin: JSON.stringify(link.origin),
      creation_date: link.createdAt,
      expiration_date: link.expiresAt,
      mac: integrity.publicKeys.of('signInLinks', link),
    })
    .execute()
  return code
}

/** A session. @returns Its cookie, as a `Cookie` header has it, and its id. */
export async function seedSession(
  { database, integrity }: Seeding,
  userId: string,
  { origin = OPENID, ...age }: SessionAge & { readonly origin?: SessionOrigin },
) {
  const { secret: cookie, hash } = integrity.secrets.sessionCookies.generate()
  const session = {
    sessionId: randomUUID(),
    userId,
    origin,
    hash,
    clientAddress: '192.0.2.1',
    createdAt: fromNow(age.created),
    expiresAt: fromNow(age.expires),
  }
  await database.db
    .insertInto('console_sessions')
    .values({
      session_id: session.sessionId,
      hash,
      user_id: userId,
      origin: JSON.stringify(origin),
      client_address: session.clientAddress,
      creation_date: session.createdAt,
      expiration_date: session.expiresAt,
      last_use_date: fromNow(age.lastUse),
      mac: integrity.publicKeys.of('consoleSessions', session),
    })
    .execute()
  return { cookie: `keyturn_console=${cookie}`, sessionId: session.sessionId }
}

/** How many seconds ago a session was last used, as it is stored. */
export async function secondsSinceUse({ database }: Pick<Seeding, 'database'>, sessionId: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from clock_timestamp() - last_use_date)::float as seconds
    from console_sessions where session_id = ${sessionId}`.execute(database.db)
  return rows[0]?.seconds ?? Number.NaN
}

function fromNow(seconds: number): Date {
  return new Date(Date.now() + seconds * 1000)
}
