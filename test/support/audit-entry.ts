/**
 * What stores are told about who is at work, when a test does not care.
 */
import type { AuditEntry } from '../../src/domain/audit.ts'
import type { ChangeEntry } from '../../src/domain/identities/authority.ts'

/** A change of the test itself, by the right of the system. */
export function anEntry(action: string, resource = ''): ChangeEntry {
  return { ...anAuditEntry(action, resource), authority: { kind: 'system' } }
}

/** What the audit trail keeps of it. */
export function anAuditEntry(action: string, resource = ''): AuditEntry {
  return { actor: 'tester', action, resource, requestId: 'request-1' }
}
