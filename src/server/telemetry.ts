/** Makes what operators see of this process: metrics, traces, and a log line for each request. */
import type { Replica } from '../app/replica/replica.ts'
import type { Config } from '../config/config.ts'
import type { ChangeFeed } from '../domain/ports/instance.ts'
import type { Handler } from '../http/requests/exchange.ts'
import type { Database } from '../storage/postgres/database.ts'
import type { ServerLog } from '../telemetry/log/log.ts'
import { logRequests } from '../telemetry/log/request-log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/metrics.ts'
import { serveMetrics } from '../telemetry/metrics/metrics-server.ts'
import { startTracing, type Tracing } from '../telemetry/tracing/tracing.ts'
import type { CleanupStack } from './cleanup-stack.ts'
import type { RoutingOptions } from './routing.ts'
import { systemTime } from './system-clock.ts'

export interface Telemetry {
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly around: (handler: Handler) => Handler
  /** Called with each request that was answered. */
  readonly onAnswered: RoutingOptions['onAnswered']
}

/** @param servesMetrics Whether this process listens on the metrics address. */
export async function startTelemetry(
  config: Config,
  log: ServerLog,
  { stack, servesMetrics }: { readonly stack: CleanupStack; readonly servesMetrics: boolean },
): Promise<Telemetry> {
  const metrics = createMetrics()
  stack.defer(() => metrics.stop())
  if (servesMetrics) stack.defer(await serveMetrics(config.metricsListen, () => metrics.registry.metrics(), log))
  const tracing = await startTracing(config, log)
  stack.defer(() => tracing.stop())
  const logRequest = logRequests(log.requests)
  return {
    metrics,
    tracing,
    around: (handler) => tracing.around(metrics.around(handler)),
    onAnswered: (answered) => {
      metrics.recordRequest(answered)
      logRequest(answered)
      tracing.end(answered)
    },
  }
}

export interface Observed {
  readonly replica: Replica
  readonly feed: ChangeFeed
  readonly database: Database
  /** Of the primary region; null if none is configured. */
  readonly primaryDatabase: Database | null
}

/** Measures a replica from now on. Once only. */
export function observeReplica(
  metrics: Pick<Metrics, 'observe' | 'observeDatabase' | 'recordChangeLag'>,
  { replica, feed, database, primaryDatabase }: Observed,
): void {
  metrics.observe(replica, systemTime)
  metrics.observeDatabase({
    reachable: () => replica.guard.isReachable(),
    standby: () => replica.isStandby(),
    pools: () => ({
      ...database.pools(),
      ...(primaryDatabase === null ? {} : { primary: primaryDatabase.pools().administration }),
    }),
    changeFeed: () => feed.status(),
    clockOffsetSeconds: () => replica.clockOffset.seconds,
  })
  replica.onChange(({ lagSeconds }) => {
    if (lagSeconds !== null) metrics.recordChangeLag(lagSeconds)
  })
}
