/**
 * Sign-in links and sessions that began earlier, as a server with the integrity key would have written them.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { SignIns } from '../../src/domain/console/sign-ins.ts'
import type { SessionOrigin } from '../../src/domain/identities/authority.ts'
import type { Integrity } from '../../src/domain/integrity.ts'
import { writeSignIns } from '../../src/storage/console/sign-in-rows.ts'
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
  await write({ database, integrity }, { links: [link], sessions: [] })
  return code
}

/** A session. @returns Its cookie, as a `Cookie` header has it, and its id. */
export async function seedSession(
  { database, integrity }: Seeding,
  userId: string,
  { origin = OPENID, ...age }: SessionAge & { readonly origin?: SessionOrigin },
) {
  const { secret: cookie, hash } = integrity.secrets.sessionCookies.generate()
  const dates = { createdAt: fromNow(age.created), expiresAt: fromNow(age.expires), lastUsedAt: fromNow(age.lastUse) }
  const session = { sessionId: randomUUID(), userId, origin, hash, clientAddress: '192.0.2.1', ...dates }
  await write({ database, integrity }, { links: [], sessions: [session] })
  return { cookie: `keyturn_console=${cookie}`, sessionId: session.sessionId }
}

async function write({ database, integrity }: Seeding, added: Pick<SignIns, 'links' | 'sessions'>): Promise<void> {
  const nothing: SignIns = { userId: '', isEnabled: true, links: [], sessions: [] }
  await database.db
    .transaction()
    .execute((trx) => writeSignIns(trx, [nothing, { ...nothing, ...added }], integrity.publicKeys))
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
