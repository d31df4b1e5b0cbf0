/**
 * Trusted issuers and their keys in the database, and the verification of their JWTs. `storage/` and `crypto/` implement these.
 */
import type { FederatedToken } from '../federation/federated-identity.ts'
import type { FetchedKeys } from '../federation/issuer-keys.ts'
import type { TrustedIssuer } from '../federation/trusted-issuer.ts'
import type { ChangeEntry } from '../identities/authority.ts'
import type { ChangeMoment } from '../time.ts'

/** The trusted issuers in the database. Every method throws {DomainError} `storage_unavailable`, and `change` what `KeyStore.update` does. */
export interface FederationStore {
  /**
   * Decides about all issuers and stores the difference as one step, like `KeyStore.update`, with `entry` as an audit event. `decide` gets
   * the clock besides the date, because fetches are due by the clock.
   */
  change<T>(
    entry: ChangeEntry,
    decide: (issuers: readonly TrustedIssuer[], moment: ChangeMoment) => IssuersChange<T>,
  ): Promise<T>
  /** Ordered by `issuer`. */
  list(): Promise<readonly TrustedIssuer[]>
}

/** The next trusted issuers. The same list as before: nothing changes. */
export interface IssuersChange<T> {
  readonly next: readonly TrustedIssuer[]
  readonly result: T
}

/** The keys that were fetched, in the database. Every method throws {DomainError} `storage_unavailable`, and `update` what `KeyStore.update` does. */
export interface IssuerKeyStore {
  /**
   * Decides about the fetched keys of an issuer and stores the outcome as one step, like `KeyStore.update`. Only a change is announced to
   * replicas, and an audit event: other updates, such as when the next fetch is due, leave the version of the instance as it is.
   *
   * @returns The issuer as the update leaves it; undefined if it is not trusted any more. If its keys are given, nothing is decided.
   */
  update(
    entry: ChangeEntry,
    issuerId: string,
    decide: (keys: FetchedKeys) => IssuerKeyUpdate,
  ): Promise<TrustedIssuer | undefined>
  find(issuerId: string): Promise<TrustedIssuer | undefined>
}

/** What becomes of the fetched keys of an issuer. The same object as before: nothing is written. */
export interface IssuerKeyUpdate {
  readonly next: FetchedKeys
  readonly isChange: boolean
}

/** How an assertion names its issuer: by `iss` (RFC 7523), or by the trust domain of `sub` (draft-ietf-oauth-spiffe-client-auth). */
export type FederatedAssertionType = 'jwt-bearer' | 'jwt-spiffe'

/** A JWT, and what it is said to be. */
export interface FederatedAssertionContent {
  readonly jwt: string
  readonly type: FederatedAssertionType
}

/** What is known about a JWT of another issuer. `reason`: for the operator, never with a value from the JWT. */
export type FederatedVerification =
  | { readonly kind: 'verified'; readonly token: FederatedToken }
  | {
      readonly kind: 'refused'
      readonly reason: string
      /** The issuer, if the JWT may be by a key that it has and that has not been fetched yet. */
      readonly mayHaveNewKey?: string
    }

/** Verifies JWTs of trusted issuers: signature, dates and that there is one audience. Who they stand for is decided elsewhere. */
export interface FederatedTokenVerifier {
  verify(assertion: FederatedAssertionContent, issuers: readonly TrustedIssuer[]): Promise<FederatedVerification>
}
