/**
 * Keeps writes of requests from using up the connections of the server while its commits hang.
 *
 * While a synchronous standby is away, a commit waits for it without a limit. The client gives up, and its connection to the server lives on,
 * which does not notice that the client is gone: within minutes no replica could connect any more. Changes of the instance need no guard: the first one that hangs keeps the lock, and the others
 * are refused before their commit. Writes that may be lost wait for nothing.
 */
import { sql } from 'kysely'
import { DomainError } from '../../domain/errors.ts'
import { isResponseTimeout } from './bounded-client.ts'
import type { Database } from './database.ts'

/** Longer than a commit waits for a standby that is there. */
const HANGS_AFTER_SECONDS = 1

/**
 * Runs writes. After one that timed out, it asks the server before each whether commits of this role hang, and refuses while they do, until
 * none does.
 */
export function guardCommits({ db }: Pick<Database, 'db'>): <T>(write: () => Promise<T>) => Promise<T> {
  let suspected = false

  const hang = async (): Promise<boolean> => {
    const { rows } = await sql`
      select 1 from pg_stat_activity
      where wait_event = 'SyncRep' and usename = current_user and datname = current_database()
        and state_change < clock_timestamp() - make_interval(secs => ${sql.lit(HANGS_AFTER_SECONDS)})
      limit 1`.execute(db)
    return rows.length > 0
  }

  return async (write) => {
    // Without an answer, or on an engine without that view, the write itself shows how it is.
    if (suspected && (await hang().catch(() => false))) throw hanging()
    suspected = false
    try {
      return await write()
    } catch (error) {
      if (isResponseTimeout(error)) suspected = true
      throw error
    }
  }
}

function hanging(): DomainError {
  const forOperator = 'commits in the database wait for a synchronous standby'
  return new DomainError('storage_unavailable', 'the database is not available', { forOperator })
}

/**
 * A query after which the commit of its transaction waits neither for the disk nor for a standby. While a synchronous standby is away,
 * a periodic write that waited for it would hold one more connection of the server each time that it gave up.
 */
export const ASYNCHRONOUS_COMMIT = sql<{
  readonly set_config: string
}>`select set_config('synchronous_commit', 'off', true)`
