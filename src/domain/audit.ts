/** The audit trail of administration: who did what to which resource, with which outcome. */

/** An action on a resource, and who did it. Never has a secret in it. */
export interface AuditEntry {
  /** A user id, `anonymous` for a caller who could not prove who it is, or `system`. */
  readonly actor: string
  /** The service and method that was called, or what the system did. */
  readonly action: string
  /** Empty for `system`. */
  readonly requestId: string
  /** The IP address of the client, or of its network. Left out or empty: none, or not known. */
  readonly clientAddress?: string
  /** For example `users/<user_id>/secrets/<secret_id>`; empty if it is not known. */
  readonly resource: string
  /** Why, in words of the caller, for example a commit. Left out or empty: not said. */
  readonly reason?: string
}

/** Refusals that were dropped from the trail, because of a rate limit or because the database could not be reached. */
export interface Omission {
  readonly count: number
  readonly since: Date
}

export interface AuditEvent extends AuditEntry {
  readonly clientAddress: string
  readonly reason: string
  readonly eventId: string
  readonly at: Date
  /** `ok`, or the reason of the refusal. */
  readonly outcome: string
  /** The dropped refusals that the event stands for; null if it stands for itself. */
  readonly omission: Omission | null
}

export interface AuditFilter {
  readonly from: Date | null
  /** Exclusive. */
  readonly to: Date | null
  readonly actor: string | null
  /** The resource itself and its parts. */
  readonly resource: string | null
}

export const ANONYMOUS = 'anonymous'

/**
 * A place in the trail, between two events: opaque, and the same on every replica and after a restart. It stays good when the events
 * around it are deleted.
 */
export type AuditPosition = string

export interface PositionedEvent {
  readonly event: AuditEvent
  readonly position: AuditPosition
}
