/**
 * Makes the audit trail, the feed of those who follow it, and what announces credentials that expire.
 */
import { AuditFeed } from '../app/audit/audit-feed.ts'
import { startAuditRetention } from '../app/audit/audit-retention.ts'
import { AuditTrail } from '../app/audit/audit-trail.ts'
import { watchCredentials } from '../app/identities/credential-watch.ts'
import { createAuditReader } from '../storage/audit/audit-reader.ts'
import { createAuditLog } from '../storage/events/audit-log.ts'
import { createCredentialExpiries } from '../storage/identities/credential-expiries.ts'
import { type RecordingOptions, recording } from './recording.ts'
import type { ServicesOptions } from './services.ts'
import { systemClock } from './system-clock.ts'

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
  const { counts, stop } = watchCredentials({ expiries, isWritable, clock: systemClock, log })
  metrics.observeCredentials(counts)
  stack.defer(stop)
}
