/**
 * Metrics of what this replica has in memory, and of how well it follows the database.
 */
import type { Meter } from '@opentelemetry/api'
import type { Replica } from '../../app/replica/replica.ts'
import { PassingGauge, type PassingPoint } from './passing-gauge.ts'

/** Longer than any id that Keyturn makes. */
const MAX_ID_LENGTH = 100

/** The part of a replica that is measured. */
export type ReplicaSource = Pick<Replica, 'status' | 'readiness' | 'identityCounts'>

/** The metric that says whether anything is served, which must never be missing: an alert would see nothing. */
export const READY = {
  name: 'keyturn_replica_ready',
  description: 'Whether tokens can be issued and all that is known was taken over: 1 or 0.',
}

/** The row because of which a newer state cannot be taken over: one series, so that its labels are bounded. */
export function createUnreadableGauge(): PassingGauge {
  const description = 'The row because of which a newer state of the instance cannot be taken over: 1, or 0 for none.'
  return new PassingGauge('keyturn_replica_unreadable', { description })
}

/** Makes the instruments. There is nothing to see in most of them before there is a replica. */
export function measureReplica(meter: Meter, unreadable: PassingGauge) {
  let isReady = () => false
  meter
    .createObservableGauge(READY.name, { description: READY.description })
    .addCallback((result) => result.observe(isReady() ? 1 : 0))
  return {
    observe: (replica: ReplicaSource): void => {
      isReady = () => replica.readiness().ready
      unreadable.read = () => [unreadablePoint(replica)]
      observe(meter, replica)
    },
  }
}

function unreadablePoint(replica: ReplicaSource): PassingPoint {
  const row = replica.status().unreadableRow
  if (row === undefined) return { attributes: { kind: 'none', id: '' }, value: 0 }
  return { attributes: { kind: row.kind, id: row.id.slice(0, MAX_ID_LENGTH) }, value: 1 }
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
      description: 'Look-ups of service users, by result: in memory, or read from the database.',
    })
    .addCallback((result) => {
      const { hits, misses } = replica.identityCounts()
      result.observe(hits, { result: 'hit' })
      result.observe(misses, { result: 'miss' })
    })
  meter
    .createObservableGauge('keyturn_identity_cache_entries', { description: 'Service users in memory.' })
    .addCallback((result) => result.observe(replica.identityCounts().users))
}
