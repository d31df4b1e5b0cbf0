/**
 * The programs of the PostgreSQL servers that the tests start: from npm, or an older server that Debian 12 installs.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { thisPlatform } from '../../src/embedded-postgres/platform.ts'
import { findPrograms } from '../../src/embedded-postgres/programs.ts'
import { reachablePrograms } from '../../src/embedded-postgres/reachable-programs.ts'
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
export function debianPrograms(): PostgresPrograms {
  if (WITHOUT_DEBIAN_POSTGRES !== undefined) throw new Error(WITHOUT_DEBIAN_POSTGRES)
  return DEBIAN
}

/**
 * Those of the embedded database, the newest server.
 *
 * @param user Who will run them.
 * @param folder For a copy, if that user cannot enter the folder in which they are installed: one that this user can enter.
 */
export async function npmPrograms(user: SpawnUser, folder: string): Promise<PostgresPrograms> {
  const programs = await findPrograms(thisPlatform())
  return programsIn(join(await reachablePrograms(programs, asServerUser(user), folder), 'bin'))
}

/** As the code under test knows users. */
export function asServerUser(user: SpawnUser): ServerUser | null {
  return user.uid === undefined ? null : { name: 'postgres', uid: user.uid, gid: user.gid }
}

function programsIn(bin: string): PostgresPrograms {
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}
