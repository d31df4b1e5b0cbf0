/**
 * The programs of the PostgreSQL servers that the tests start: from npm, or an older server that Debian 12 installs.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findPrograms, reachablePrograms } from '../../src/embedded-postgres/programs.ts'
import type { ServerUser } from '../../src/embedded-postgres/server-user.ts'
import type { SpawnUser } from './system-user.ts'

/** Paths of what makes a server and what runs it. */
export interface PostgresPrograms {
  readonly initdb: string
  readonly postgres: string
}

const DEBIAN = programsIn('/usr/lib/postgresql/15/bin')

/** Why tests that need PostgreSQL 15 cannot run here; undefined if they can. */
export const WITHOUT_DEBIAN_POSTGRES = existsSync(DEBIAN.postgres)
  ? undefined
  : `there is no PostgreSQL 15 at ${DEBIAN.postgres}`

/** PostgreSQL 15, as Debian 12 installs it: what an older server does differently. */
function debianPrograms(): PostgresPrograms {
  if (WITHOUT_DEBIAN_POSTGRES !== undefined) throw new Error(WITHOUT_DEBIAN_POSTGRES)
  return DEBIAN
}

/** Where a server comes from: npm (the newest major version) or Debian 12 (15). */
export type PostgresOrigin = 'npm' | 'debian'

/** What the tests run on that ask for no version: `KEYTURN_TEST_POSTGRES=15` or `18`, the default. The embedded database is always 18. */
export function defaultOrigin(): PostgresOrigin {
  const major = process.env.KEYTURN_TEST_POSTGRES ?? '18'
  if (major === '15') return 'debian'
  if (major === '18') return 'npm'
  throw new Error(`KEYTURN_TEST_POSTGRES is "${major}": use 15 or 18`)
}

/** @param folder For a copy, if `user`, who will run them, cannot enter the folder in which they are installed. */
export async function findTestPrograms(
  origin: PostgresOrigin,
  user: SpawnUser,
  folder: string,
): Promise<PostgresPrograms> {
  return origin === 'npm' ? await npmPrograms(user, folder) : debianPrograms()
}

/**
 * Those of the embedded database, the newest server.
 *
 * @param user Who will run them.
 * @param folder For a copy, if that user cannot enter the folder in which they are installed: one that this user can enter.
 */
async function npmPrograms(user: SpawnUser, folder: string): Promise<PostgresPrograms> {
  const programs = await findPrograms()
  return programsIn(join(await reachablePrograms(programs, asServerUser(user), join(folder, 'programs')), 'bin'))
}

/** As the code under test knows users. */
export function asServerUser(user: SpawnUser): ServerUser | null {
  return user.uid === undefined ? null : { name: 'postgres', uid: user.uid, gid: user.gid }
}

function programsIn(bin: string): PostgresPrograms {
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}
