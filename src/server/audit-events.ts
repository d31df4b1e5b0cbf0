/**
 * Makes the audit trail, and what follows it: the feed for streams, and the export to a collector; and what announces credentials that expire.
 */
import { randomUUID } from 'node:crypto'
import { AuditExporter } from '../app/audit/audit-exporter.ts'
import { AuditFeed } from '../app/audit/audit-feed.ts'
import { startAuditRetention } from '../app/audit/audit-retention.ts'
import { AuditTrail } from '../app/audit/audit-trail.ts'
import { CredentialWatch } from '../app/identities/credential-watch.ts'
import { createAuditExports } from '../storage/audit/audit-exports.ts'
import { createAuditReader } from '../storage/audit/audit-reader.ts'
import { createAuditLog } from '../storage/events/audit-log.ts'
import { createCredentialExpiries } from '../storage/identities/credential-expiries.ts'
import { type RecordingOptions, recording } from './recording.ts'
import type { ServicesOptions } from './services.ts'
import { systemClock } from './system-clock.ts'

/** The name under which the database has how far the export with OTLP is. */
const OTLP = 'otlp'

/** The audit trail and its retention. It is stopped after all services. */
export function createAuditTrail(
  options: RecordingOptions & Pick<ServicesOptions, 'config' | 'log' | 'stack' | 'replica' | 'now' | 'tracing'>,
): AuditTrail {
  const { config, log, stack, database, replica, now, tracing } = options
  const { refuse } = recording(options, createAuditLog)
  const events = tracing.calls('AuditLog', { ...createAuditLog(database), refuse })
  const audit = new AuditTrail({ events, clock: systemClock, now, log })
  stack.defer(() => audit.stop())
  const retention = { events, clock: systemClock, now, log, days: config.auditRetentionDays }
  stack.defer(startAuditRetention({ ...retention, isWritable: () => replica.isWritable() }))
  return audit
}

/** The feed of all who follow the trail in this process. */
export function createAuditFeed({
  database,
  replica,
  tracing,
}: Pick<ServicesOptions, 'database' | 'replica' | 'tracing'>): AuditFeed {
  return new AuditFeed({
    reader: tracing.calls('AuditReader', createAuditReader(database)),
    onChange: (listener) => replica.onChange(listener),
    clock: systemClock,
  })
}

/** Exports the trail, if the configuration names a collector. Without one, the SDK of OpenTelemetry is not loaded for it. */
export async function startAuditExport({
  config,
  log,
  stack,
  database,
  replica,
  metrics,
  now,
  auditFeed: feed,
}: Pick<
  ServicesOptions,
  'config' | 'log' | 'stack' | 'database' | 'replica' | 'metrics' | 'now' | 'auditFeed'
>): Promise<void> {
  if (config.auditEventsTo === null) return
  const { createOtlpLogs } = await import('../telemetry/logs/otlp-logs.ts')
  const { send, stop } = createOtlpLogs(log)
  stack.defer(stop)
  const exports = createAuditExports(database, OTLP)
  const isWritable = () => replica.isWritable()
  const holder = randomUUID()
  const exporter = new AuditExporter({ feed, exports, send, isWritable, holder, clock: systemClock, now, log })
  metrics.observeAuditExport(() => exporter.behindSeconds)
  stack.defer(() => exporter.stop())
  exporter.start()
}

/** Counts and announces credentials that expire, apart from requests. */
export function startCredentialWatch({
  log,
  stack,
  database,
  replica,
  metrics,
}: Pick<ServicesOptions, 'log' | 'stack' | 'database' | 'replica' | 'metrics'>): void {
  const isWritable = () => replica.isWritable()
  const expiries = createCredentialExpiries(database)
  const watch = new CredentialWatch({ expiries, isWritable, clock: systemClock, log })
  metrics.observeCredentials(() => watch.counts)
  stack.defer(() => watch.stop())
  watch.start()
}
