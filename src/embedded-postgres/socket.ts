/** How Keyturn reaches the embedded PostgreSQL: over the socket in the database folder. */
import { closeSync, openSync } from 'node:fs'

/** The names that exist in each embedded database. The role is no superuser. */
export const ROLE = 'keyturn'
export const DATABASE = 'keyturn'

/** Of the file of a socket, in bytes: the system's limit on Linux is 107 and on macOS 103. */
const LONGEST_PATH = process.platform === 'linux' ? 107 : 103
const SOCKET = '/.s.PGSQL.5432'

export interface SocketAddress {
  /** As in KEYTURN_DATABASE_URL. It is good for this process only, and until `close`. */
  readonly url: string
  close(): void
}

/**
 * The way to the database in a folder. Where the path of the socket is too long, it goes through the folder itself, which is
 * held open for that.
 *
 * @throws {Error} that says what to do, where that is not possible.
 */
export function socketAddress(folder: string): SocketAddress {
  if (Buffer.byteLength(folder + SOCKET) <= LONGEST_PATH) return { url: urlOf(folder), close: () => {} }
  if (process.platform !== 'linux') {
    throw new Error(
      `the path of the database folder ${folder} is too long for a socket: choose a data directory with a shorter one`,
    )
  }
  const descriptor = openSync(folder, 'r')
  return { url: urlOf(`/proc/self/fd/${descriptor}`), close: () => closeSync(descriptor) }
}

function urlOf(host: string): string {
  // All is said, so that no variable such as PGPORT is asked.
  return `postgresql:///${DATABASE}?${new URLSearchParams({ host, port: '5432', user: ROLE, sslmode: 'disable' })}`
}
