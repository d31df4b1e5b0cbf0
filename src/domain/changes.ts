/**
 * The revision of an instance: which change it is at. The version alone does not identify a change, because the same number
 * can come back after a fail-over that lost changes.
 */

import type { TrustedIssuer } from './federation/trusted-issuer.ts'
import type { FederatedSubject } from './identities/federated-identity.ts'

export interface Revision {
  /** Grows, except after a fail-over to a server that lacks the last changes. */
  readonly version: number
  /** By the clock of the database. Null: none yet. */
  readonly changedAt: Date | null
}

export function isSameRevision(a: Revision, b: Revision): boolean {
  return a.version === b.version && a.changedAt?.getTime() === b.changedAt?.getTime()
}

/** The service users that a change may have changed, with everything that belongs to them. */
export type ChangedUsers =
  | { readonly kind: 'any' }
  /** Those with these ids, and those that have to do with these projects: that are in one, or have a role in it or over it. */
  | { readonly kind: 'some'; readonly userIds: readonly string[]; readonly projectIds: readonly string[] }

export const ANY_USER: ChangedUsers = { kind: 'any' }
export const NO_USER: ChangedUsers = { kind: 'some', userIds: [], projectIds: [] }

/** What a change of the trusted issuers changes of users: those of one that is gone lose federated identities. */
export function changedByIssuers(before: readonly TrustedIssuer[], next: readonly TrustedIssuer[]): ChangedUsers {
  const left = new Set(next.map(({ issuerId }) => issuerId))
  return before.every(({ issuerId }) => left.has(issuerId)) ? NO_USER : ANY_USER
}

/** What the changes since a revision may have changed of what a replica has in memory. */
export type IdentityChanges =
  | { readonly kind: 'any' }
  | {
      readonly kind: 'some'
      readonly userIds: ReadonlySet<string>
      readonly projectIds: ReadonlySet<string>
      /** The subjects of the federated identities that these users have now. */
      readonly subjects: readonly FederatedSubject[]
    }
