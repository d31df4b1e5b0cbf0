/**
 * What stores are told about who is at work, when a test does not care.
 */
import type { AuditEntry } from '../../src/domain/audit.ts'

/** An entry of the test itself. */
export function anEntry(action: string, resource = ''): AuditEntry {
  return { actor: 'tester', action, resource, requestId: 'request-1' }
}
