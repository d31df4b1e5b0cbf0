/**
 * Verifies certificates of clients against trusted authorities (RFC 5280 §6, for one purpose and without policies).
 *
 * Revocation lists and OCSP are not consulted. Signatures are checked from the authority down, so that no key is used that a trusted
 * one has not signed.
 */
import { type KeyObject, X509Certificate } from 'node:crypto'
import { messageOf } from '../domain/errors.ts'
import type { VerifiedCertificate } from '../domain/identities/client-certificate.ts'
import type { PresentedCertificate } from '../domain/identities/token-binding.ts'
import type { ClientCertificateVerifier } from '../domain/ports/verification.ts'
import { type CertificateContent, parseCertificate, readCertificate } from './certificate-content.ts'

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
const ANY_PURPOSE = '2.5.29.37.0'

/** Bits of the key usage (RFC 5280 §4.2.1.3), in its first byte. */
const DIGITAL_SIGNATURE = 0x80
const CERTIFICATE_SIGNATURE = 0x04

/** With SHA-2, and Ed25519. RSA-PSS is left out, because its parameters can name any hash. */
const SIGNATURE_ALGORITHMS = new Set([
  '1.2.840.113549.1.1.11',
  '1.2.840.113549.1.1.12',
  '1.2.840.113549.1.1.13',
  '1.2.840.10045.4.3.2',
  '1.2.840.10045.4.3.3',
  '1.2.840.10045.4.3.4',
  '1.3.101.112',
])

const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192
const CURVES: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1']

/** Longer than any chain of certificates below a trusted one. More may be presented, in any order. */
const MAX_INTERMEDIATES = 5

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** An authority that is trusted, or that a trusted one has signed, and how many more may follow below it. */
interface TrustedAuthority {
  readonly content: CertificateContent
  readonly maxIntermediates: number
}

/**
 * The authorities in a PEM text.
 *
 * @throws {Error} that says which certificate cannot be used, or that there is none.
 */
export function parseAuthorities(pem: string): readonly CertificateContent[] {
  const authorities = (pem.match(CERTIFICATES) ?? []).map((text, i) => {
    try {
      const content = readCertificate(new X509Certificate(text))
      assertAuthority(content)
      return content
    } catch (error) {
      throw new Error(`certificate ${i + 1}: ${messageOf(error)}`, { cause: error })
    }
  })
  if (authorities.length === 0) throw new Error('there is no certificate in it')
  return authorities
}

/** @param authorities Those that are trusted now; null if the operator trusts none. */
export function createClientCertificateVerifier(
  authorities: () => readonly CertificateContent[] | null,
): ClientCertificateVerifier {
  return {
    trustsAuthorities: authorities() !== null,
    verify: (certificate, now) => verify(certificate, authorities() ?? [], now),
  }
}

type Presented = Extract<PresentedCertificate, { kind: 'presented' }>

function verify(
  { thumbprint, chain }: Presented,
  authorities: readonly CertificateContent[],
  now: Date,
): VerifiedCertificate {
  let isUsable = false
  try {
    const [certificate, ...others] = chain
    const x509 = parseCertificate(certificate ?? new Uint8Array())
    if (!isValidAt(x509, now)) throw new Error('it has expired, or is not valid yet')
    assertKey(x509.publicKey)
    isUsable = true
    const content = readCertificate(x509)
    assertOfClient(content)
    const trusted = authoritiesAmong(others, authorities, now)
    if (issuerOf(content, trusted) === undefined) throw new Error('no trusted authority has issued it')
    const { subject, dnsNames, uris } = content
    return { thumbprint, isUsable, names: { subject, dnsNames, uris }, problem: null }
  } catch (error) {
    return { thumbprint, isUsable, names: null, problem: messageOf(error) }
  }
}

/** The trusted authorities, and those certificates that they have signed, directly or not, and that may sign others. */
function authoritiesAmong(
  others: readonly Uint8Array[],
  authorities: readonly CertificateContent[],
  now: Date,
): readonly TrustedAuthority[] {
  const trusted: TrustedAuthority[] = authorities
    .filter(({ x509 }) => isValidAt(x509, now))
    .map((content) => ({ content, maxIntermediates: content.authority?.maxIntermediates ?? 0 }))
  const waiting = new Set(others.flatMap(readIntermediate))
  for (let found = true; found && trusted.length < authorities.length + MAX_INTERMEDIATES; ) {
    found = false
    for (const content of waiting) {
      const issuer = issuerOf(content, trusted)
      if (issuer === undefined || issuer.maxIntermediates < 1 || !isValidAt(content.x509, now)) continue
      const own = content.authority?.maxIntermediates ?? 0
      trusted.push({ content, maxIntermediates: Math.min(issuer.maxIntermediates - 1, own) })
      waiting.delete(content)
      found = true
    }
  }
  return trusted
}

/** A certificate that cannot be used is none, since clients send more than is needed. */
function readIntermediate(der: Uint8Array): readonly CertificateContent[] {
  try {
    const content = readCertificate(parseCertificate(der))
    assertAuthority(content)
    return [content]
  } catch {
    return []
  }
}

function issuerOf({ x509, signatureAlgorithm }: CertificateContent, trusted: readonly TrustedAuthority[]) {
  if (!SIGNATURE_ALGORITHMS.has(signatureAlgorithm)) return undefined
  return trusted.find(({ content }) => x509.checkIssued(content.x509) && x509.verify(content.x509.publicKey))
}

/** The certificate of an authority has other duties, and one of a server must not become that of a client. */
function assertOfClient({ authority, purposes, keyUsage }: CertificateContent): void {
  if (authority !== null) throw new Error('it is that of an authority')
  if (purposes?.includes(CLIENT_AUTH) !== true) throw new Error('it is not for the authentication of clients')
  if (keyUsage !== undefined && !has(keyUsage, DIGITAL_SIGNATURE)) throw new Error('its key is not for signatures')
}

function assertAuthority({ x509, authority, purposes, keyUsage }: CertificateContent): void {
  if (authority === null) throw new Error('it is not that of an authority')
  if (keyUsage !== undefined && !has(keyUsage, CERTIFICATE_SIGNATURE))
    throw new Error('its key may not sign certificates')
  if (purposes !== undefined && !purposes.includes(CLIENT_AUTH) && !purposes.includes(ANY_PURPOSE))
    throw new Error('it is not for certificates of clients')
  assertKey(x509.publicKey)
}

function assertKey({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): void {
  const { modulusLength = 0, namedCurve } = details
  const isGood =
    type === 'rsa'
      ? modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS
      : type === 'ed25519' || (type === 'ec' && CURVES.includes(namedCurve))
  if (!isGood) throw new Error('its key must be RSA with 2048 to 8192 bits, on P-256, P-384 or P-521, or Ed25519')
}

function has(keyUsage: Buffer, bit: number): boolean {
  return ((keyUsage[0] ?? 0) & bit) !== 0
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, now: Date): boolean {
  return validFromDate <= now && now <= validToDate
}
