/**
 * Client certificates (RFC 8705 §2): by a name that a trusted authority has certified (`tls_client_auth`), or one certificate that nothing needs to trust
 * (`self_signed_tls_client_auth`). Every value is compared as a whole.
 */

import { DomainError } from '../errors.ts'
import { trustDomainOf } from '../federation/trusted-issuer.ts'
import { type ClientCertificate, liveCredentials } from './credential.ts'
import { formatDistinguishedName, parseDistinguishedName } from './distinguished-name.ts'
import type { ServiceUser } from './service-user.ts'

export interface VerifiedCertificate {
  readonly thumbprint: string
  /** Null if no trusted authority vouches for them now. */
  readonly names: CertificateNames | null
  /** Whether its dates include the time of the verification, and its key is long enough. */
  readonly isUsable: boolean
  /** Why there are no names, for the log. */
  readonly problem: string | null
}

export interface CertificateNames {
  /** In the one spelling; undefined if there is none, or it cannot be read. */
  readonly subject: string | undefined
  readonly dnsNames: readonly string[]
  readonly uris: readonly string[]
}

/** A letter, digits and hyphens between dots. No wildcard: it would stand for clients that do not exist yet. */
const DNS_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]+$/
const THUMBPRINT = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

/** A value as it is compared. @throws {DomainError} `client_certificate_invalid`. */
export function parseCertificateValue(match: ClientCertificate['match'], text: string): string {
  switch (match) {
    case 'subject_dn': {
      const name = parseDistinguishedName(text)
      // What openssl prints in front of it.
      if (/^subject *=/.test(text)) throw invalidCertificate('write the subject without "subject=": CN=checkout,O=Shop')
      if (name === undefined)
        throw invalidCertificate('the subject is no distinguished name (RFC 4514): CN=checkout,O=Shop')
      return formatDistinguishedName(name)
    }
    case 'san_dns': {
      const name = text.toLowerCase()
      if (!DNS_NAME.test(name)) throw invalidCertificate('the DNS name must be one, without a wildcard')
      return name
    }
    case 'san_uri': {
      // A SPIFFE ID has a path: without one it stands for the authority itself (X.509-SVID §2).
      const isGood = text.startsWith('spiffe:') ? trustDomainOf(text) !== undefined : URI.test(text)
      if (!isGood) throw invalidCertificate('the URI must be one, and a SPIFFE ID must be that of a workload')
      return text
    }
    case 'thumbprint': {
      if (!THUMBPRINT.test(text)) throw invalidCertificate('the thumbprint must be a SHA-256 in base64url')
      return text
    }
  }
}

function invalidCertificate(reason: string): DomainError {
  return new DomainError('client_certificate_invalid', `the client certificate cannot be used: ${reason}`)
}

/** The live certificate of the user that a presented one proves. */
export function provedCertificate(
  user: Pick<ServiceUser, 'credentials'>,
  presented: VerifiedCertificate,
  now: Date,
): ClientCertificate | undefined {
  return liveCredentials(user, 'client_certificate', now).find((certificate) => fits(certificate, presented))
}

function fits({ match, value }: ClientCertificate, { thumbprint, names, isUsable }: VerifiedCertificate): boolean {
  switch (match) {
    case 'thumbprint':
      return isUsable && thumbprint === value
    case 'subject_dn':
      return names?.subject === value
    case 'san_dns':
      return names?.dnsNames.some((name) => name.toLowerCase() === value) === true
    case 'san_uri':
      // An X.509-SVID has exactly one URI (X.509-SVID §2).
      return names?.uris.includes(value) === true && (names.uris.length === 1 || !value.startsWith('spiffe:'))
  }
}
