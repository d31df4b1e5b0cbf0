/**
 * What is written down about administration: who did what to which resource, and what came of it.
 */

/** An action on a resource, and who did it. Never has a secret in it. */
export interface AuditEntry {
  /** A user id, `anonymous` for a caller who could not prove who it is, or `system`. */
  readonly actor: string
  /** The service and method that was called, or what the system did. */
  readonly action: string
  /** Empty for `system`. */
  readonly requestId: string
  /** For example `users/<user_id>/secrets/<secret_id>`; empty if it is not known. */
  readonly resource: string
}

/** An entry as it is kept. */
export interface AuditEvent extends AuditEntry {
  readonly eventId: string
  readonly at: Date
  /** `ok`, or the reason of the refusal. */
  readonly outcome: string
}

/** Which events to list. All that are set must match. */
export interface AuditFilter {
  readonly from: Date | null
  /** Exclusive. */
  readonly to: Date | null
  readonly actor: string | null
  /** The resource itself and its parts. */
  readonly resource: string | null
}
