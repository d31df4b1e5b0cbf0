/**
 * Trusted issuers in the database, their keys that are fetched, and the verification of their JWTs. `storage/`, `outbound/` and `crypto/` implement these.
 */

import type { FetchedKeys, KeySource, TrustedIssuer } from '../federation/trusted-issuer.ts'
import type { ChangeEntry } from '../identities/authority.ts'
import type { FederatedToken } from '../identities/federated-identity.ts'

/** Every method throws {DomainError} `storage_unavailable`, and `change` what `KeyStore.update` does. */
export interface FederationStore {
  /** Like `KeyStore.update`, for all issuers. */
  change<T>(entry: ChangeEntry, decide: (issuers: readonly TrustedIssuer[], date: Date) => IssuersChange<T>): Promise<T>
  /** Ordered by `issuer`. */
  list(): Promise<readonly TrustedIssuer[]>
}

/** The next trusted issuers. The same list as before: nothing changes. */
export interface IssuersChange<T> {
  readonly next: readonly TrustedIssuer[]
  readonly result: T
}

export interface FetchingIssuer {
  readonly issuerId: string
  readonly issuer: string
  readonly source: KeySource
}

/** The keys of issuers that this process has fetched. `outbound/` implements it. */
export interface IssuerKeyFetches {
  state(issuer: FetchingIssuer): FetchedKeys
  /** Fetches the keys of an issuer: now, or if a JWT would have them fetched. `state` has what comes of it. */
  refresh(issuer: FetchingIssuer, when: 'now' | 'if due'): Promise<void>
}

/** How an assertion names its issuer: by `iss` (RFC 7523), or by the trust domain of `sub` (draft-ietf-oauth-spiffe-client-auth). */
export type FederatedAssertionType = 'jwt-bearer' | 'jwt-spiffe'

export interface FederatedAssertionContent {
  readonly jwt: string
  readonly type: FederatedAssertionType
}

/** What is known about a JWT of another issuer. `reason`: for the operator, never with a value from the JWT. */
export type FederatedVerification =
  | { readonly kind: 'verified'; readonly token: FederatedToken }
  | { readonly kind: 'refused'; readonly reason: string }

/** Verifies JWTs of trusted issuers: signature, dates and that there is one audience. Who they stand for is decided elsewhere. */
export interface FederatedTokenVerifier {
  /** @throws {DomainError} `trusted_issuer_unavailable`: it has no keys that may be used, and they cannot be fetched. */
  verify(assertion: FederatedAssertionContent, issuers: readonly TrustedIssuer[]): Promise<FederatedVerification>
}
