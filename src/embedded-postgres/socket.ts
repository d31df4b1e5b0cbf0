/** How Keyturn reaches the embedded PostgreSQL: over the socket in the database folder. */
import { openSync } from 'node:fs'

/** The names that exist in each embedded database. The role is no superuser. */
export const ROLE = 'keyturn'
export const DATABASE = 'keyturn'

/** Of the file of a socket, in bytes: the system's limit on Linux is 107 and on macOS 103. */
const LONGEST_PATH = process.platform === 'linux' ? 107 : 103
const SOCKET = '/.s.PGSQL.5432'

/**
 * The URL of the database in a folder, as in KEYTURN_DATABASE_URL, for this process only. Where the path of the socket is too long, it goes
 * through the folder itself, which this process then holds open.
 *
 * @throws {Error} that says what to do, where that is not possible.
 */
export function socketUrl(folder: string): string {
  if (Buffer.byteLength(folder + SOCKET) <= LONGEST_PATH) return urlOf(folder)
  if (process.platform !== 'linux') {
    throw new Error(
      `the path of the database folder ${folder} is too long for a socket: choose a data directory with a shorter one`,
    )
  }
  return urlOf(`/proc/self/fd/${openSync(folder, 'r')}`)
}

function urlOf(host: string): string {
  // All is said, so that no variable such as PGPORT is asked.
  return `postgresql:///${DATABASE}?${new URLSearchParams({ host, port: '5432', user: ROLE, sslmode: 'disable' })}`
}
