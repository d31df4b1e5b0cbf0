/**
 * DPoP (RFC 9449): which proofs count. A proof shows that its sender has the private key to which a token is bound, or is to be bound.
 *
 * Signatures and nonces are in `crypto/`; that a proof counts once is in `app/access/dpop.ts`.
 */
import { DomainError } from '../errors.ts'

/**
 * The signature algorithms of proofs: asymmetric ones only (RFC 9449 §4.2), and no PKCS #1 v1.5 (FAPI 2.0 Security Profile §5.4.1).
 */
export const DPOP_ALGORITHMS = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  // The newer name of EdDSA with this curve (RFC 9864).
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
] as const

/**
 * How far the clock of a client may be from the time of the instance, in seconds: for `nbf` and `exp`, and for `iat` of a proof without a
 * nonce (RFC 9449 §4.3 check 11). FAPI 2.0 Security Profile §5.3.2.1 allows 10 to 60.
 */
export const CLOCK_TOLERANCE_SECONDS = 60

/** For how long a nonce is accepted at least and at most, from when it was first handed out, in seconds. */
export const NONCE_SECONDS = { step: 60, steps: 5 } as const

/**
 * For how long a proof could be accepted after its first use, in seconds, so that its use must be remembered: a nonce may come from a
 * replica that is a step ahead.
 */
export const PROOF_LIFETIME_SECONDS = Math.max(
  2 * CLOCK_TOLERANCE_SECONDS,
  NONCE_SECONDS.step * (NONCE_SECONDS.steps + 1),
)

/** A proof whose signature is valid (RFC 9449 §4.2). */
export interface DpopProof {
  /** The SHA-256 thumbprint of its key (RFC 7638): `jkt` of the tokens that are bound to it. */
  readonly keyThumbprint: string
  /** `jti`. */
  readonly proofId: string
  /** `htm`. */
  readonly method: string
  /** `htu`. */
  readonly uri: string
  readonly issuedAt: Date
  readonly nonce: string | undefined
  /** `ath`. */
  readonly tokenHash: string | undefined
}

/** The request that a proof must be about. */
export interface ProvedRequest {
  readonly method: string
  /** Without query and fragment. */
  readonly uri: string
  /** Of the access token in the request. Undefined at the token endpoint, where there is none. */
  readonly tokenHash: string | undefined
}

/** @throws {DomainError} `dpop_proof_invalid` if the proof is about another request (RFC 9449 §4.3 checks 8, 9 and 12). */
export function assertProves(proof: DpopProof, { method, uri, tokenHash }: ProvedRequest): void {
  if (proof.method !== method) throw invalidProof(`htm must be ${method}`)
  if (proof.uri !== uri) throw invalidProof(`htu must be ${uri}`)
  if (tokenHash !== undefined && proof.tokenHash !== tokenHash) {
    throw invalidProof('ath must be the SHA-256 of the access token, in base64url')
  }
}

/** Whether a proof without a nonce was made just now, by its `iat`. */
export function isRecent({ issuedAt }: DpopProof, now: Date): boolean {
  return Math.abs(now.getTime() - issuedAt.getTime()) <= CLOCK_TOLERANCE_SECONDS * 1000
}

/** The refusal of a proof. @param detail What is wrong, which the client may know. */
export function invalidProof(detail: string, cause?: unknown): DomainError {
  return new DomainError('dpop_proof_invalid', `the DPoP proof is not valid: ${detail}`, { cause })
}
