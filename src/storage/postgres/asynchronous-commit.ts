/**
 * Commits that wait for nothing, for writes that may be lost.
 */
import { sql } from 'kysely'

/**
 * A query after which the commit of its transaction waits neither for the disk nor for a standby. While a synchronous standby is away,
 * a periodic write that waited for it would hold one more connection of the server each time that it gave up.
 */
export const ASYNCHRONOUS_COMMIT = sql<{
  readonly set_config: string
}>`select set_config('synchronous_commit', 'off', true)`
