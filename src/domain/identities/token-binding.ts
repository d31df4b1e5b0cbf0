/**
 * To what a token is bound (RFC 7800): to a key that its user proves with DPoP, or to a client certificate. A token is bound to one of
 * them at most.
 */
import { DomainError } from '../errors.ts'

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
      /** The SHA-256 of the certificate in base64url. */
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
