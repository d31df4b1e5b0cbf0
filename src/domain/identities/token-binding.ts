/**
 * To what a token is bound (RFC 7800): to a key that its user proves with DPoP, or to a client certificate. A token is bound to one of
 * them at most.
 */
import { DomainError } from '../errors.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../time.ts'

/** A binding, by the SHA-256 thumbprint of the key (`cnf.jkt`, RFC 9449 §6.1) or of the certificate (`cnf.x5t#S256`, RFC 8705 §3.1). */
export interface TokenBinding {
  readonly kind: 'dpop' | 'certificate'
  readonly thumbprint: string
}

/** The certificate of a request's client. The possession of its private key has been proved to the server, or to a trusted proxy. */
export type PresentedCertificate =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'presented'
      readonly thumbprint: string
      /** In DER: the certificate, and those that the client sent with it, in no certain order. */
      readonly chain: readonly Uint8Array[]
    }
  /** There may be one, and it cannot be told which. Whatever depends on it must be refused. */
  | { readonly kind: 'unreadable'; readonly reason: string }

/** @throws {DomainError} `token_certificate_mismatch` unless the certificate is the one that the token is bound to (RFC 8705 §3). */
export function assertBoundTo(thumbprint: string, certificate: PresentedCertificate): void {
  if (certificate.kind === 'presented' && certificate.thumbprint === thumbprint) return
  const found = {
    none: 'the request comes without one',
    presented: 'the request comes with another one',
    unreadable: certificate.kind === 'unreadable' ? certificate.reason : '',
  }[certificate.kind]
  throw new DomainError('token_certificate_mismatch', `the access token is bound to a client certificate: ${found}`)
}

/** The signature algorithms of proofs: asymmetric ones only (RFC 9449 §4.2), and no PKCS #1 v1.5 (FAPI 2.0 Security Profile §5.4.1). */
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

export function isRecent({ issuedAt }: DpopProof, now: Date): boolean {
  return Math.abs(now.getTime() - issuedAt.getTime()) <= CLOCK_TOLERANCE_SECONDS * 1000
}

/** The refusal of a proof. @param detail What is wrong, which the client may know. */
export function invalidProof(detail: string, cause?: unknown): DomainError {
  return new DomainError('dpop_proof_invalid', `the DPoP proof is not valid: ${detail}`, { cause })
}
