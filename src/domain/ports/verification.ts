/**
 * What proves who a caller is: tokens of this service, DPoP proofs and client certificates. `crypto/` implements these.
 *
 * JWTs of other issuers are in `federation.ts`.
 */
import type { IssuedAccessToken, VerifiedAccessToken } from '../identities/authority.ts'
import type { VerifiedCertificate } from '../identities/client-certificate.ts'
import type { DpopProof, PresentedCertificate } from '../identities/token-binding.ts'
import type { KeyRing } from '../keys/key-ring.ts'

/** Verifies access tokens that this service issued. */
export interface AccessTokenVerifier {
  /**
   * What a token says that one of the ring's keys signed, for the service itself, and that has not expired.
   *
   * @throws {DomainError} `token_invalid`; `token_key_unknown` if the token may be good, but by a key that is not in the ring.
   */
  verify(token: string, ring: KeyRing): Promise<VerifiedAccessToken>
}

/** Verifies access tokens that this service issued, for any audience. */
export interface IssuedTokenVerifier {
  /** Like `AccessTokenVerifier.verify`, but for a token that is meant for anyone. */
  verify(token: string, ring: KeyRing): Promise<IssuedAccessToken>
}

/** Verifies DPoP proofs. */
export interface DpopProofVerifier {
  /** What a proof says whose signature is by the key in its header. @throws {DomainError} `dpop_proof_invalid`. */
  verify(proof: string, now: Date): Promise<DpopProof>
}

export interface ClientCertificateVerifier {
  /** Whether the operator trusts any authority. */
  readonly trustsAuthorities: boolean
  /** What is known about a certificate at a time. */
  verify(certificate: Extract<PresentedCertificate, { kind: 'presented' }>, now: Date): VerifiedCertificate
}
