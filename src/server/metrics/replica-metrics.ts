/**
 * Metrics of what this replica has in memory, and of how well it follows the database.
 */
import type { Meter } from '@opentelemetry/api'
import type { Replica } from '../../app/replica.ts'

/** The part of a replica that is measured. */
export type ReplicaSource = Pick<Replica, 'status' | 'readiness' | 'identityCounts'>

/** The metric that says whether anything is served, which must never be missing: an alert would see nothing. */
export const READY = { name: 'keyturn_replica_ready', description: 'Whether tokens can be issued: 1 or 0.' }

/** Makes the instruments. There is nothing to see in most of them before there is a replica. */
export function measureReplica(meter: Meter) {
  let isReady = () => false
  meter
    .createObservableGauge(READY.name, { description: READY.description })
    .addCallback((result) => result.observe(isReady() ? 1 : 0))
  return {
    observe: (replica: ReplicaSource): void => {
      isReady = () => replica.readiness().ready
      observe(meter, replica)
    },
  }
}

function observe(meter: Meter, replica: ReplicaSource): void {
  meter
    .createObservableGauge('keyturn_replica_version', { description: 'Version of the instance in memory.' })
    .addCallback((result) => result.observe(replica.status().version))
  meter
    .createObservableGauge('keyturn_replica_staleness_seconds', {
      description: 'Time since the state in memory was last confirmed against the database.',
    })
    .addCallback((result) => result.observe(replica.status().stalenessSeconds))
  meter
    .createObservableCounter('keyturn_identity_cache_lookups_total', {
      description: 'Look-ups of service users, by result: in memory, read from the database, or known not to exist.',
    })
    .addCallback((result) => {
      const { hits, misses, unknown } = replica.identityCounts()
      result.observe(hits, { result: 'hit' })
      result.observe(misses, { result: 'miss' })
      result.observe(unknown, { result: 'unknown' })
    })
  meter
    .createObservableGauge('keyturn_identity_cache_entries', {
      description: 'Service users in memory, and ids that are known to have none.',
    })
    .addCallback((result) => {
      const { users, unknownIds } = replica.identityCounts()
      result.observe(users, { kind: 'user' })
      result.observe(unknownIds, { kind: 'unknown' })
    })
}
