/**
 * The `CredentialUses` on a database: last uses of secrets, and used assertions (`jti`). Written outside of the lock and without
 * a new version, because they come with token requests. Assertions that come together are written together.
 */
import { sql } from 'kysely'
import { databaseBusy } from '../../domain/errors.ts'
import { isUuid } from '../../domain/identifiers.ts'
import type { CredentialUses } from '../../domain/ports/records.ts'
import { ASYNCHRONOUS_COMMIT, guardCommits } from '../postgres/commits.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'

/** How long used assertions are kept after they expire: the clocks of replicas and database may differ. */
const KEPT_EXPIRED_SECONDS = 300

/** After each interval of uses a batch of expired ones is deleted: more than were added in the interval, which is as long as a batch. */
const CLEANUP_INTERVAL = 100
const CLEANUP_BATCH = 1000

/** So that a batch which waits for a lock does not hold up all others. */
const BATCHES_AT_ONCE = 2
const BATCH_SIZE = 100
const MAX_WAITING = 1000

/** The use of an assertion that waits for its batch. */
interface WaitingUse {
  readonly id: string
  readonly expiresAt: Date
  readonly resolve: (isFirst: boolean) => void
  readonly reject: (error: unknown) => void
}

export function createCredentialUses({ db }: Database): CredentialUses {
  const expiredBefore = sql<Date>`clock_timestamp() - make_interval(secs => ${sql.lit(KEPT_EXPIRED_SECONDS)})`
  const guarded = guardCommits({ db })
  const waiting: WaitingUse[] = []
  let running = 0
  let usesSinceCleanup = 0

  const deleteExpired = async (): Promise<void> => {
    const expired = db
      .selectFrom('used_assertions')
      .select('id')
      .where('expiration_date', '<', expiredBefore)
      .orderBy('expiration_date')
      .limit(CLEANUP_BATCH)
    await db.deleteFrom('used_assertions').where('id', 'in', expired).execute()
  }

  /** The ids that were not in use yet. */
  const insert = async (uses: readonly WaitingUse[]): Promise<string[]> => {
    const ids = uses.map(({ id }) => id)
    const dates = uses.map(({ expiresAt }) => expiresAt.toISOString())
    const { rows } = await sql<{ id: string }>`
      insert into used_assertions (id, expiration_date)
      select id, expiration_date from unnest(${ids}::text[], ${dates}::timestamptz[]) as use (id, expiration_date)
      on conflict (id) do update set expiration_date = excluded.expiration_date
      where used_assertions.expiration_date < ${expiredBefore}
      returning id`.execute(db)
    return rows.map(({ id }) => id)
  }

  const useOnce = async (uses: readonly WaitingUse[]): Promise<void> => {
    usesSinceCleanup += uses.length
    // Before the uses, so that the clients can try again if it fails.
    if (usesSinceCleanup >= CLEANUP_INTERVAL) {
      await usingStorageWithRetries(() => guarded(deleteExpired))
      usesSinceCleanup = 0
    }
    const first = new Map(uses.toReversed().map((use) => [use.id, use]))
    // In the same order everywhere, so that batches of two replicas do not wait for each other.
    const distinct = [...first.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const inserted = new Set(await usingStorageWithRetries(() => guarded(() => insert(distinct))))
    for (const use of uses) use.resolve(first.get(use.id) === use && inserted.has(use.id))
  }

  const startBatch = (): void => {
    if (running >= BATCHES_AT_ONCE || waiting.length === 0) return
    running += 1
    const batch = waiting.splice(0, BATCH_SIZE)
    void useOnce(batch)
      .catch((error: unknown) => {
        for (const { reject } of batch) reject(error)
      })
      .finally(() => {
        running -= 1
        startBatch()
      })
  }

  return {
    recordSecretUses: async (lastUses) => {
      const known = [...lastUses].filter(([secretId]) => isUuid(secretId))
      if (known.length === 0) return
      const secretIds = known.map(([secretId]) => secretId)
      const dates = known.map(([, at]) => at.toISOString())
      await usingStorageWithRetries(async () => {
        await sql`
          with committing as (${ASYNCHRONOUS_COMMIT})
          update credentials as c set last_use_date = u.use_date
          from committing, unnest(${secretIds}::uuid[], ${dates}::timestamptz[]) as u (secret_id, use_date)
          where c.credential_id = u.secret_id and (c.last_use_date is null or c.last_use_date < u.use_date)`.execute(db)
      })
    },

    useAssertionOnce: (id, expiresAt) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= MAX_WAITING) throw databaseBusy()
        waiting.push({ id, expiresAt, resolve, reject })
        startBatch()
      }),
  }
}
