/**
 * The credentials that operators should look at. `storage/` implements this.
 */
import type { CredentialKind } from '../identities/credential.ts'

/** The credentials that expire soon, or are not used any more. Both methods throw {DomainError} `storage_unavailable`. */
export interface CredentialExpiries {
  /**
   * Writes an audit event for each credential that expires within 30 and within 7 days, once for each of both, whichever replica asks. One
   * that was made to live for less time than that is left out. @returns How many; not complete: there may be more.
   */
  announce(): Promise<{ readonly announced: number; readonly isComplete: boolean }>
  count(): Promise<CredentialCounts>
}

/** How many credentials of enabled users there are of each kind. */
export interface CredentialCounts {
  /** Those that expire soon: client secrets that were used in the last 30 days, and all others, of which the last use is not known. */
  readonly expiring: readonly { readonly kind: CredentialKind; readonly withinDays: number; readonly count: number }[]
  /** Client secrets that work and were not used for 90 days. */
  readonly unusedSecrets: number
}
