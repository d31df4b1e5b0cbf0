/**
 * Metrics of the way to the database: connections, change feed, clocks.
 */
import type { Meter } from '@opentelemetry/api'

/** How many connections a pool has, how many of them nobody uses, and how many callers wait for one. */
export interface PoolUse {
  readonly total: number
  readonly idle: number
  readonly waiting: number
}

const FEED_STATES = ['connected', 'disconnected', 'off'] as const

/** What is known of the database at a moment. Nothing of it may wait. */
export interface DatabaseStatus {
  /** Whether it answered when it was last asked. */
  reachable(): boolean
  /** By name. */
  pools(): Readonly<Record<string, PoolUse>>
  /** `off`: nothing is announced, or nobody listens. */
  changeFeed(): (typeof FEED_STATES)[number]
  /** How far the database's clock is ahead of this machine's, in seconds. */
  clockOffsetSeconds(): number
  /** How far the database's clock is behind the time that is held against it, in seconds. */
  clockHeldSeconds(): number
}

const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Makes the instruments. */
export function measureDatabase(meter: Meter) {
  const lag = meter.createHistogram('keyturn_change_lag_seconds', {
    description: 'Age of a change when this replica had taken it over.',
    advice: { explicitBucketBoundaries: LAG_BUCKETS },
  })
  return {
    recordChangeLag: (seconds: number): void => lag.record(Math.max(0, seconds)),
    observe: (status: DatabaseStatus): void => observe(meter, status),
  }
}

function observe(meter: Meter, status: DatabaseStatus): void {
  meter
    .createObservableGauge('keyturn_database_reachable', {
      description: 'Whether the database answered when it was last asked: 1 or 0.',
    })
    .addCallback((result) => result.observe(status.reachable() ? 1 : 0))
  meter
    .createObservableGauge('keyturn_change_feed', {
      description: 'State of the connection that announces changes: 1 for the one it is in.',
    })
    .addCallback((result) => {
      const current = status.changeFeed()
      for (const state of FEED_STATES) result.observe(state === current ? 1 : 0, { state })
    })
  meter
    .createObservableGauge('keyturn_clock_offset_seconds', {
      description: 'How far the clock of the database is ahead of the clock of this machine.',
    })
    .addCallback((result) => result.observe(status.clockOffsetSeconds()))
  meter
    .createObservableGauge('keyturn_clock_held_back_seconds', {
      description:
        'How far the clock of the database has gone back behind the time of the instance; 0 while it has not.',
    })
    .addCallback((result) => result.observe(status.clockHeldSeconds()))
  meter
    .createObservableGauge('keyturn_database_connections', { description: 'Connections by pool and state.' })
    .addCallback((result) => {
      for (const [pool, { total, idle }] of Object.entries(status.pools())) {
        result.observe(total - idle, { pool, state: 'used' })
        result.observe(idle, { pool, state: 'idle' })
      }
    })
  meter
    .createObservableGauge('keyturn_database_waiting', { description: 'Callers that wait for a connection, by pool.' })
    .addCallback((result) => {
      for (const [pool, { waiting }] of Object.entries(status.pools())) result.observe(waiting, { pool })
    })
}
