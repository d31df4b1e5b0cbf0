/**
 * X.509 certificates (RFC 5280), good ones and others, written in DER by this file, so that tests need no other program.
 */
import {
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'

/** A certificate with its private key. */
export interface TestCertificate {
  readonly der: Buffer
  readonly pem: string
  readonly key: KeyObject
  readonly keyPem: string
  /** The SHA-256 of the certificate in base64url (`x5t#S256`). */
  readonly thumbprint: string
  /** Its subject in DER. */
  readonly subject: Buffer
}

/** What a certificate says. */
export interface CertificateOptions {
  /** From the root to the leaf of the directory, each with one attribute or with several. Default: `CN=client`. */
  readonly subject?: readonly (Attribute | readonly Attribute[])[]
  /** Null: a certificate that signs itself. */
  readonly issuer?: TestCertificate | null
  readonly dns?: readonly string[]
  readonly uris?: readonly string[]
  /** IPv4 addresses. */
  readonly addresses?: readonly string[]
  /** Whether it is an authority's, and how many authorities may be below it. */
  readonly ca?: boolean | number
  /** Object identifiers; null: the extension is missing. Default: that of clients; of an authority none. */
  readonly extendedKeyUsage?: readonly string[] | null
  /** The bits of the extension, as hexadecimal, with the number of unused bits before them; null: the extension is missing. */
  readonly keyUsage?: string | null
  readonly notBefore?: Date
  readonly notAfter?: Date
  /** Default: a new key on P-256. */
  readonly key?: KeyObject
  /** Of its signature. Default: SHA-256. */
  readonly digest?: 'sha256' | 'sha1'
  /** Further extensions, in DER. */
  readonly extensions?: readonly Buffer[]
}

/** A type, a value and the tag of its encoding, by default that of a UTF-8 string. */
export type Attribute = readonly [type: string, value: string, tag?: number]

export const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
export const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'

const HOUR = 3_600_000
const TYPES: Readonly<Record<string, string>> = {
  CN: '2.5.4.3',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  C: '2.5.4.6',
  DC: '0.9.2342.19200300.100.1.25',
}
const ECDSA = { sha256: '1.2.840.10045.4.3.2', sha1: '1.2.840.10045.4.1' }
const RSA = { sha256: '1.2.840.113549.1.1.11', sha1: '1.2.840.113549.1.1.5' }
const ED25519 = '1.3.101.112'

/** Makes a certificate. */
export function certificateOf(options: CertificateOptions = {}): TestCertificate {
  const { issuer = null, key = newKey(), digest = 'sha256' } = options
  const { notBefore = new Date(Date.now() - HOUR), notAfter = new Date(Date.now() + 24 * HOUR) } = options
  const subject = nameOf(options.subject ?? [['CN', 'client']])
  const signer = issuer?.key ?? key
  const algorithm = algorithmOf(signer, digest)
  const publicKey = new Uint8Array(createPublicKey(key).export({ type: 'spki', format: 'der' }))
  const body = der(
    0x30,
    der(0xa0, der(0x02, [2])),
    der(0x02, [0x40, ...randomBytes(15)]),
    algorithm,
    issuer?.subject ?? subject,
    der(0x30, time(notBefore), time(notAfter)),
    subject,
    publicKey,
    der(0xa3, der(0x30, ...extensionsOf(options))),
  )
  const signature = sign(signer.asymmetricKeyType === 'ed25519' ? null : digest, body, signer)
  const certificate = der(0x30, body, algorithm, der(0x03, [0], signature))
  const pem = new X509Certificate(certificate).toString()
  const thumbprint = hash('sha256', certificate, 'base64url')
  const keyPem = String(key.export({ type: 'pkcs8', format: 'pem' }))
  return { der: certificate, pem, key, keyPem, thumbprint, subject }
}

/** Makes the certificate of an authority. */
export function authorityOf(name: string, options: CertificateOptions = {}): TestCertificate {
  return certificateOf({ subject: [['CN', name]], ca: true, ...options })
}

/** A private key. */
export function newKey(kind: 'ec' | 'rsa' | 'ed25519' | 'weak' = 'ec'): KeyObject {
  if (kind === 'ed25519') return generateKeyPairSync('ed25519').privateKey
  if (kind === 'ec') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  return generateKeyPairSync('rsa', { modulusLength: kind === 'rsa' ? 2048 : 1024 }).privateKey
}

/** An extension. @param value In DER. */
export function extension(oid: string, critical: boolean, value: Uint8Array): Buffer {
  return der(0x30, objectIdentifier(oid), ...(critical ? [der(0x01, [0xff])] : []), der(0x04, value))
}

/** A value in DER: its tag, its length and its content. */
export function der(tag: number, ...content: (Uint8Array | readonly number[])[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => Uint8Array.from(part)))
  const { length } = bytes
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.from([tag, ...size, ...bytes])
}

function extensionsOf(options: CertificateOptions): Buffer[] {
  const { ca = false, dns = [], uris = [], addresses = [], extensions = [] } = options
  const { extendedKeyUsage = ca === false ? [CLIENT_AUTH] : null, keyUsage = ca === false ? '0780' : '0106' } = options
  const pathLength = typeof ca === 'number' ? [der(0x02, [ca])] : []
  const names = [
    ...dns.map((name) => text(0x82, name)),
    ...uris.map((uri) => text(0x86, uri)),
    ...addresses.map((address) => der(0x87, address.split('.').map(Number))),
  ]
  return [
    extension('2.5.29.19', true, der(0x30, ...(ca === false ? [] : [der(0x01, [0xff]), ...pathLength]))),
    ...(keyUsage === null ? [] : [extension('2.5.29.15', true, der(0x03, Buffer.from(keyUsage, 'hex')))]),
    ...(extendedKeyUsage === null
      ? []
      : [extension('2.5.29.37', false, der(0x30, ...extendedKeyUsage.map(objectIdentifier)))]),
    ...(names.length === 0 ? [] : [extension('2.5.29.17', false, der(0x30, ...names))]),
    ...extensions,
  ]
}

function nameOf(rdns: NonNullable<CertificateOptions['subject']>): Buffer {
  const isOne = (rdn: Attribute | readonly Attribute[]): rdn is Attribute => typeof rdn[0] === 'string'
  const attribute = ([type, value, tag = 0x0c]: Attribute) =>
    der(0x30, objectIdentifier(TYPES[type] ?? type), text(tag, value))
  return der(0x30, ...rdns.map((rdn) => der(0x31, ...(isOne(rdn) ? [rdn] : rdn).map(attribute))))
}

function algorithmOf({ asymmetricKeyType: type }: KeyObject, digest: 'sha256' | 'sha1'): Buffer {
  if (type === 'ed25519') return der(0x30, objectIdentifier(ED25519))
  return type === 'rsa'
    ? der(0x30, objectIdentifier(RSA[digest]), der(0x05))
    : der(0x30, objectIdentifier(ECDSA[digest]))
}

function text(tag: number, value: string): Buffer {
  return der(tag, Buffer.from(value, tag === 0x1e ? 'utf16le' : 'utf8'))
}

/** In the form of dates before 2050 (RFC 5280 §4.1.2.5.1). */
function time(date: Date): Buffer {
  return text(0x17, `${date.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`)
}

function objectIdentifier(oid: string): Buffer {
  const [first = 0, second = 0, ...others] = oid.split('.').map(Number)
  return der(0x06, [first * 40 + second, ...others].flatMap(base128))
}

function base128(value: number): number[] {
  const low = value & 0x7f
  const high = Math.floor(value / 0x80)
  return high === 0 ? [low] : [...base128(high).map((digit) => digit | 0x80), low]
}
