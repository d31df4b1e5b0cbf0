/** Metrics of what this replica has in memory, of how well it follows the database, and of the way there. */
import type { Registry } from 'prom-client'
import type { Replica } from '../../app/replica/replica.ts'
import { activeKey } from '../../domain/keys/key-ring.ts'
import type { WebKeyState } from '../../domain/keys/web-key.ts'
import { observing } from './observed-metrics.ts'

/** Longer than any id that Keyturn makes. */
const MAX_ID_LENGTH = 100

const KEY_STATES: readonly WebKeyState[] = ['initial', 'active', 'inactive']
const FEED_STATES = ['connected', 'disconnected', 'off'] as const

/** The state of the database at a moment. No call waits. */
export interface DatabaseStatus {
  /** Whether it answered when it was last asked. */
  reachable(): boolean
  /** Whether it was a hot standby when it was last asked. */
  standby(): boolean
  /** By name: how many connections a pool has, how many of them are idle, and how many callers wait for one. */
  pools(): Readonly<Record<string, { readonly total: number; readonly idle: number; readonly waiting: number }>>
  /** `off`: changes are not announced, or not listened for. */
  changeFeed(): (typeof FEED_STATES)[number]
  /** How far the database's clock is ahead of this machine's, in seconds. */
  clockOffsetSeconds(): number
}

/** Registers the metrics of a replica. @param now The time of the instance, which dates the keys. */
export function measureReplica(registry: Registry, replica: Replica, now: () => Date): void {
  const { gauge, counter } = observing(registry)
  gauge('keyturn_web_keys', 'Web keys by state.', {
    labelNames: ['state'],
    read: () =>
      KEY_STATES.map((state) => ({
        labels: { state },
        value: replica.state.ring.filter((key) => key.state === state).length,
      })),
  })
  gauge('keyturn_active_key_age_seconds', 'Time since the active web key was activated.', {
    labelNames: ['algorithm'],
    read: () => {
      const active = activeKey(replica.state.ring)
      if (active === undefined) return []
      // The clock of the instance is known to some milliseconds.
      const ageSeconds = Math.max(0, (now().getTime() - active.activatedAt.getTime()) / 1000)
      return [{ labels: { algorithm: active.algorithm }, value: ageSeconds }]
    },
  })
  gauge('keyturn_can_sign', 'Whether there is an active web key whose private key is open: 1 or 0.', {
    aggregator: 'min',
    read: () => replica.state.signer !== null,
  })
  const unreadable = 'The row because of which a newer state of the instance cannot be taken over: 1, or 0 for none.'
  gauge('keyturn_replica_unreadable', unreadable, {
    labelNames: ['kind', 'id'],
    // One series, so that the labels are bounded.
    read: () => {
      const row = replica.guard.unreadableRow
      if (row === undefined) return [{ labels: { kind: 'none', id: '' }, value: 0 }]
      return [{ labels: { kind: row.kind, id: row.id.slice(0, MAX_ID_LENGTH) }, value: 1 }]
    },
  })
  gauge('keyturn_replica_version', 'Version of the instance in memory.', { read: () => replica.state.version })
  const staleness = 'Time since the state in memory was last confirmed against the database.'
  gauge('keyturn_replica_staleness_seconds', staleness, { read: () => replica.guard.stalenessSeconds })
  const replay = 'How old what a standby had was at the last comparison; 0 if the database is a primary.'
  gauge('keyturn_replica_replay_age_seconds', replay, { read: () => replica.guard.replayAgeSeconds ?? 0 })
  const lookups = 'Look-ups of service users, by result: in memory, or read from the database.'
  counter('keyturn_identity_cache_lookups_total', lookups, {
    labelNames: ['result'],
    read: () => {
      const { hits, misses } = replica.identities.counts
      return [
        { labels: { result: 'hit' }, value: hits },
        { labels: { result: 'miss' }, value: misses },
      ]
    },
  })
  gauge('keyturn_identity_cache_entries', 'Service users in memory.', { read: () => replica.identities.counts.users })
}

export function measureDatabase(registry: Registry, status: DatabaseStatus): void {
  const { gauge } = observing(registry)
  const pools = () => Object.entries(status.pools())
  gauge('keyturn_database_reachable', 'Whether the database answered when it was last asked: 1 or 0.', {
    aggregator: 'min',
    read: () => status.reachable(),
  })
  gauge('keyturn_database_standby', 'Whether the database was a hot standby when it was last asked: 1 or 0.', {
    read: () => status.standby(),
  })
  gauge('keyturn_change_feed', 'State of the connection that announces changes: 1 for the one it is in.', {
    labelNames: ['state'],
    read: () => FEED_STATES.map((state) => ({ labels: { state }, value: state === status.changeFeed() ? 1 : 0 })),
  })
  gauge('keyturn_clock_offset_seconds', 'How far the clock of the database is ahead of the clock of this machine.', {
    read: () => status.clockOffsetSeconds(),
  })
  gauge('keyturn_database_connections', 'Connections by pool and state.', {
    labelNames: ['pool', 'state'],
    aggregator: 'sum',
    read: () =>
      pools().flatMap(([pool, { total, idle }]) => [
        { labels: { pool, state: 'used' }, value: total - idle },
        { labels: { pool, state: 'idle' }, value: idle },
      ]),
  })
  gauge('keyturn_database_waiting', 'Callers that wait for a connection, by pool.', {
    labelNames: ['pool'],
    aggregator: 'sum',
    read: () => pools().map(([pool, { waiting }]) => ({ labels: { pool }, value: waiting })),
  })
}
