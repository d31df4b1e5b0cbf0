/** The `ReplicaStore` on a database: one row for each replica, written outside of the lock and without a new version. */
import { sql } from 'kysely'
import type { ReplicaStore } from '../../domain/ports/records.ts'
import { GONE_KEPT_SECONDS, MAX_REPLICAS, type SeenReplica } from '../../domain/replicas.ts'
import { ASYNCHRONOUS_COMMIT } from '../postgres/commits.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { CLOCK } from '../schema/clock.ts'

const KEPT = sql`make_interval(secs => ${sql.lit(GONE_KEPT_SECONDS)})`

interface SeenRow {
  readonly replica_id: string
  readonly host_name: string
  readonly keyturn_version: string
  readonly start_date: Date
  readonly last_seen_date: Date
  readonly version: string
  readonly versions_behind: string
  readonly lag_seconds: number | null
  readonly ready: boolean
  readonly reason: string
  readonly age_seconds: number
}

export function createReplicaStore({ db }: Pick<Database, 'db'>): ReplicaStore {
  return {
    beat: ({ replicaId, hostName, keyturnVersion, startedAt, version, lagSeconds, ready, reason }) =>
      usingStorageWithRetries(async () => {
        // The rows of others only: a statement cannot delete a row and update it.
        await sql`
          with committing as (${ASYNCHRONOUS_COMMIT}), forgotten as (
            delete from replicas where replica_id <> ${replicaId} and (
              last_seen_date not between ${CLOCK} - ${KEPT} and ${CLOCK} + ${KEPT}
              or replica_id in (select replica_id from replicas order by last_seen_date desc offset ${sql.lit(MAX_REPLICAS - 1)}))
          )
          insert into replicas (replica_id, host_name, keyturn_version, start_date, last_seen_date, version, versions_behind,
            lag_seconds, ready, reason)
          select ${replicaId}::uuid, ${hostName}, ${keyturnVersion}, ${startedAt}::timestamptz, ${CLOCK}, ${version}::bigint,
            greatest(i.version - ${version}::bigint, 0), ${lagSeconds}::float8, ${ready}::boolean, ${reason}
          from instance i, committing where i.id = 1
          on conflict (replica_id) do update set last_seen_date = excluded.last_seen_date, version = excluded.version,
            versions_behind = excluded.versions_behind, lag_seconds = excluded.lag_seconds, ready = excluded.ready,
            reason = excluded.reason`.execute(db)
      }),

    remove: (replicaId) =>
      usingStorageWithRetries(async () => {
        await sql`
          with committing as (${ASYNCHRONOUS_COMMIT})
          delete from replicas using committing where replica_id = ${replicaId}`.execute(db)
      }),

    list: () =>
      usingStorageWithRetries(async () => {
        const { rows } = await sql<{ newest_version: string } & (SeenRow | { readonly replica_id: null })>`
          select i.version as newest_version, r.*,
            extract(epoch from ${CLOCK} - r.last_seen_date)::float8 as age_seconds
          from instance i left join replicas r on true where i.id = 1
          order by r.start_date, r.replica_id limit ${sql.lit(MAX_REPLICAS)}`.execute(db)
        return {
          newestVersion: Number(rows[0]?.newest_version ?? 0),
          replicas: rows.flatMap((row) => (row.replica_id === null ? [] : [toSeenReplica(row)])),
        }
      }),
  }
}

function toSeenReplica(row: SeenRow): SeenReplica {
  return {
    replicaId: row.replica_id,
    hostName: row.host_name,
    keyturnVersion: row.keyturn_version,
    startedAt: row.start_date,
    version: Number(row.version),
    lagSeconds: row.lag_seconds,
    ready: row.ready,
    reason: row.reason,
    lastSeenAt: row.last_seen_date,
    secondsSinceSeen: row.age_seconds,
    versionsBehind: Number(row.versions_behind),
  }
}
