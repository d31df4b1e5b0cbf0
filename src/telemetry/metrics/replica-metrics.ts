/** Metrics of what this replica has in memory, of how well it follows the database, and of the way there. */
import type { Registry } from 'prom-client'
import type { Replica } from '../../app/replica/replica.ts'
import { activeKey } from '../../domain/keys/key-ring.ts'
import type { WebKeyState } from '../../domain/keys/web-key.ts'
import type { ChangeFeed } from '../../domain/ports/instance.ts'
import { metricsIn } from './instruments.ts'

/** Longer than any id that Keyturn makes. */
const MAX_ID_LENGTH = 100

const KEY_STATES: readonly WebKeyState[] = ['initial', 'active', 'inactive']
const FEED_STATES = ['connected', 'disconnected', 'off'] as const

const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export interface ObservedReplica {
  readonly replica: Replica
  readonly feed: ChangeFeed
  /** By name: how many connections a pool has, how many of them are idle, and how many callers wait for one. */
  readonly pools: () => Readonly<
    Record<string, { readonly total: number; readonly idle: number; readonly waiting: number }>
  >
  /** Open connections of clients. */
  readonly connections: () => number
  readonly now: () => Date
}

/** Registers the metrics of a replica. Called once. */
export function measureReplica(
  registry: Registry,
  { replica, feed, connections, now, ...database }: ObservedReplica,
): void {
  const { gauge, counter, histogram } = metricsIn(registry)
  const lag = histogram(
    'keyturn_change_lag_seconds',
    'Age of a change when this replica had taken it over.',
    LAG_BUCKETS,
  )
  replica.onChange(({ lagSeconds }) => {
    if (lagSeconds !== null) lag.observe(Math.max(0, lagSeconds))
  })
  gauge('keyturn_web_keys', 'Web keys by state.', {
    labelNames: ['state'],
    read: () =>
      Object.fromEntries(
        KEY_STATES.map((state) => [state, replica.state.ring.filter((key) => key.state === state).length]),
      ),
  })
  gauge('keyturn_active_key_age_seconds', 'Time since the active web key was activated.', {
    labelNames: ['algorithm'],
    read: () => {
      const active = activeKey(replica.state.ring)
      if (active === undefined) return {}
      // The clock of the instance is known to some milliseconds.
      return { [active.algorithm]: Math.max(0, (now().getTime() - active.activatedAt.getTime()) / 1000) }
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
      const { hits: hit, misses: miss } = replica.identities.counts
      return { hit, miss }
    },
  })
  gauge('keyturn_identity_cache_entries', 'Service users in memory.', { read: () => replica.identities.counts.users })
  const pools = () => Object.entries(database.pools())
  gauge('keyturn_database_reachable', 'Whether the database answered when it was last asked: 1 or 0.', {
    aggregator: 'min',
    read: () => replica.guard.isReachable(),
  })
  gauge('keyturn_database_standby', 'Whether the database was a hot standby when it was last asked: 1 or 0.', {
    read: () => replica.isStandby(),
  })
  gauge('keyturn_change_feed', 'State of the connection that announces changes: 1 for the one it is in.', {
    labelNames: ['state'],
    read: () => Object.fromEntries(FEED_STATES.map((state) => [state, Number(state === feed.status())])),
  })
  gauge('keyturn_clock_offset_seconds', 'How far the clock of the database is ahead of the clock of this machine.', {
    read: () => replica.clockOffset.seconds,
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
    read: () => Object.fromEntries(pools().map(([pool, { waiting }]) => [pool, waiting])),
  })
  gauge('keyturn_http_connections', 'Open connections of clients.', { aggregator: 'sum', read: connections })
}
