/**
 * Certificates for servers under test, by an authority that is made for the test. Node.js reads certificates and makes none, so they are
 * put together here (RFC 5280 §4.1), with keys on P-256.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

/** A certificate with its private key, as PEM. */
export interface TestCertificate {
  readonly cert: string
  readonly key: string
}

/** Whom a certificate is for, and when it is valid. */
export interface CertificateOptions {
  /** Host names and IPv4 addresses. Default: `localhost` and 127.0.0.1. */
  readonly names?: readonly string[]
  /** Default: an hour ago. */
  readonly from?: Date
  /** Default: in an hour. */
  readonly to?: Date
}

/** An authority. */
export interface TestAuthority {
  /** Its own certificate, as PEM. */
  readonly cert: string
  issue(options?: CertificateOptions): TestCertificate
}

const HOUR = 3_600_000

const OID = {
  commonName: [0x55, 0x04, 0x03],
  basicConstraints: [0x55, 0x1d, 0x13],
  subjectAltName: [0x55, 0x1d, 0x11],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
}

/** Makes an authority. */
export function createAuthority(name = 'Test Authority'): TestAuthority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const make = (subject: string, key: KeyObject, { from, to }: CertificateOptions, extensions: Buffer[]) => {
    const content = sequence(
      der(0xa0, integer([2])),
      integer([1, ...randomBytes(8)]),
      sequence(oid(OID.ecdsaWithSha256)),
      nameOf(name),
      sequence(time(from ?? new Date(Date.now() - HOUR)), time(to ?? new Date(Date.now() + HOUR))),
      nameOf(subject),
      key.export({ format: 'der', type: 'spki' }),
      der(0xa3, sequence(...extensions)),
    )
    const signature = bits(sign('sha256', content, privateKey))
    return toPem(sequence(content, sequence(oid(OID.ecdsaWithSha256)), signature))
  }
  const isAuthority = extension(OID.basicConstraints, sequence(der(0x01, Buffer.of(0xff))))
  return {
    cert: make(name, publicKey, {}, [isAuthority]),
    issue: (options = {}) => {
      const { names = ['localhost', '127.0.0.1'] } = options
      const server = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const alternatives = extension(OID.subjectAltName, sequence(...names.map(alternativeName)))
      return {
        cert: make('server', server.publicKey, options, [alternatives]),
        key: server.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
      }
    },
  }
}

function alternativeName(name: string): Buffer {
  return isIP(name) === 4 ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name))
}

function extension(id: readonly number[], value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value))
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid(OID.commonName), der(0x0c, Buffer.from(commonName)))))
}

/** GeneralizedTime, to the second. */
function time(moment: Date): Buffer {
  return der(0x18, Buffer.from(`${moment.toISOString().replace(/\D/g, '').slice(0, 14)}Z`))
}

function integer(bytes: readonly number[]): Buffer {
  return der(0x02, Buffer.from(bytes))
}

function oid(bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes))
}

function bits(content: Buffer): Buffer {
  return der(0x03, Buffer.concat([Buffer.of(0), content]))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

/** A tag, a length (X.690 §8.1.3) and the content. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}

function toPem(content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
