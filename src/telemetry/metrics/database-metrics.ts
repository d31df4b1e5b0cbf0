/**
 * Metrics of the way to the database: connections, change feed, clocks.
 */
import { Histogram, type Registry } from 'prom-client'
import { observeGauge } from './observed-metrics.ts'

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

const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Registers the metrics. `observe` registers those that need a database. */
export function measureDatabase(registry: Registry) {
  const lag = new Histogram({
    name: 'keyturn_change_lag_seconds',
    help: 'Age of a change when this replica had taken it over.',
    buckets: LAG_BUCKETS,
    registers: [registry],
  })
  return {
    recordChangeLag: (seconds: number): void => lag.observe(Math.max(0, seconds)),
    observe: (status: DatabaseStatus): void => observe(registry, status),
  }
}

function observe(registry: Registry, status: DatabaseStatus): void {
  const pools = () => Object.entries(status.pools())
  observeGauge(registry, {
    name: 'keyturn_database_reachable',
    help: 'Whether the database answered when it was last asked: 1 or 0.',
    aggregator: 'min',
    read: () => (status.reachable() ? 1 : 0),
  })
  observeGauge(registry, {
    name: 'keyturn_database_standby',
    help: 'Whether the database was a hot standby when it was last asked: 1 or 0.',
    read: () => (status.standby() ? 1 : 0),
  })
  observeGauge(registry, {
    name: 'keyturn_change_feed',
    help: 'State of the connection that announces changes: 1 for the one it is in.',
    labelNames: ['state'],
    read: () => FEED_STATES.map((state) => ({ labels: { state }, value: state === status.changeFeed() ? 1 : 0 })),
  })
  observeGauge(registry, {
    name: 'keyturn_clock_offset_seconds',
    help: 'How far the clock of the database is ahead of the clock of this machine.',
    read: () => status.clockOffsetSeconds(),
  })
  observeGauge(registry, {
    name: 'keyturn_database_connections',
    help: 'Connections by pool and state.',
    labelNames: ['pool', 'state'],
    aggregator: 'sum',
    read: () =>
      pools().flatMap(([pool, { total, idle }]) => [
        { labels: { pool, state: 'used' }, value: total - idle },
        { labels: { pool, state: 'idle' }, value: idle },
      ]),
  })
  observeGauge(registry, {
    name: 'keyturn_database_waiting',
    help: 'Callers that wait for a connection, by pool.',
    labelNames: ['pool'],
    aggregator: 'sum',
    read: () => pools().map(([pool, { waiting }]) => ({ labels: { pool }, value: waiting })),
  })
}
