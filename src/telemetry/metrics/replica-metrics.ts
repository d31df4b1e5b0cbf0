/**
 * Metrics of what this replica has in memory, and of how well it follows the database.
 */
import type { Registry } from 'prom-client'
import type { Replica } from '../../app/replica/replica.ts'
import { observeCounter, observeGauge } from './observed-metrics.ts'

/** Longer than any id that Keyturn makes. */
const MAX_ID_LENGTH = 100

/** The part of a replica that is measured. */
export type ReplicaSource = Pick<Replica, 'status' | 'readiness' | 'identities'>

/** Registers the metrics. `observe` registers those that need a replica. */
export function measureReplica(registry: Registry) {
  let isReady = () => false
  observeGauge(registry, {
    // Never missing: an alert would not fire.
    name: 'keyturn_replica_ready',
    help: 'Whether tokens can be issued and all that is known was taken over: 1 or 0.',
    aggregator: 'min',
    read: () => (isReady() ? 1 : 0),
  })
  return {
    observe: (replica: ReplicaSource): void => {
      isReady = () => replica.readiness().ready
      observe(registry, replica)
    },
  }
}

function observe(registry: Registry, replica: ReplicaSource): void {
  observeGauge(registry, {
    name: 'keyturn_replica_unreadable',
    help: 'The row because of which a newer state of the instance cannot be taken over: 1, or 0 for none.',
    labelNames: ['kind', 'id'],
    // One series, so that the labels are bounded.
    read: () => {
      const row = replica.status().unreadableRow
      if (row === undefined) return [{ labels: { kind: 'none', id: '' }, value: 0 }]
      return [{ labels: { kind: row.kind, id: row.id.slice(0, MAX_ID_LENGTH) }, value: 1 }]
    },
  })
  observeGauge(registry, {
    name: 'keyturn_replica_version',
    help: 'Version of the instance in memory.',
    read: () => replica.status().version,
  })
  observeGauge(registry, {
    name: 'keyturn_replica_staleness_seconds',
    help: 'Time since the state in memory was last confirmed against the database.',
    read: () => replica.status().stalenessSeconds,
  })
  observeGauge(registry, {
    name: 'keyturn_replica_replay_age_seconds',
    help: 'How old what a standby had was at the last comparison; 0 if the database is a primary.',
    read: () => replica.status().replayAgeSeconds ?? 0,
  })
  observeCounter(registry, {
    name: 'keyturn_identity_cache_lookups_total',
    help: 'Look-ups of service users, by result: in memory, or read from the database.',
    labelNames: ['result'],
    read: () => {
      const { hits, misses } = replica.identities.counts
      return [
        { labels: { result: 'hit' }, value: hits },
        { labels: { result: 'miss' }, value: misses },
      ]
    },
  })
  observeGauge(registry, {
    name: 'keyturn_identity_cache_entries',
    help: 'Service users in memory.',
    read: () => replica.identities.counts.users,
  })
}
