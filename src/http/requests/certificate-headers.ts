/**
 * Certificates of clients behind trusted proxies, which end TLS and pass them on in a header: `Client-Cert` (RFC 9440), or
 * `x-forwarded-client-cert` of Envoy.
 *
 * Every client can send both. So one of them counts, which the operator names, and only from a trusted proxy, which must set or remove it in
 * every request. What cannot be read is not the same as no certificate.
 */
import { X509Certificate } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { PresentedCertificate } from '../../domain/identities/token-binding.ts'
import { type CertificateReader, CLOSED, MAX_CHAIN, NONE, presented } from '../tls/client-certificates.ts'
import { createPeerCheck } from './client-address.ts'
import { peerAddressOf } from './request-context.ts'

export type CertificateHeader = 'client-cert' | 'x-forwarded-client-cert'

/** A byte sequence (RFC 8941 §3.3.5). */
const BYTE_SEQUENCE = /^:([A-Za-z0-9+/]+={0,2}):$/

/** A member of an element of `x-forwarded-client-cert`, with what separates it from the next one. */
const MEMBER = /([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^",;]*)(;|,|$)/y

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----\s*/g

/** The message says what is wrong, and repeats nothing of the header. */
class MalformedHeader extends Error {}

type ReadHeader = (headers: IncomingHttpHeaders) => readonly Buffer[]

const READERS: Readonly<Record<CertificateHeader, ReadHeader>> = {
  'client-cert': readClientCert,
  'x-forwarded-client-cert': readForwardedClientCert,
}

/** Makes a reader of one header. @param trustedProxies The proxies whose header counts: IP addresses and networks (CIDR). */
export function createHeaderReader(name: CertificateHeader, trustedProxies: readonly string[]): CertificateReader {
  const isTrusted = createPeerCheck(trustedProxies)
  const read = READERS[name]
  return (req) => {
    const peer = peerAddressOf(req)
    if (peer === undefined) return () => CLOSED
    const { headers } = req
    let known: PresentedCertificate | undefined
    return () => {
      // A proxy may send an empty header for no certificate.
      known ??= isTrusted(peer) && headers[name] ? toPresented(name, () => read(headers)) : NONE
      return known
    }
  }
}

/** @param read Throws for a header that cannot be read. */
function toPresented(name: CertificateHeader, read: () => readonly Buffer[]): PresentedCertificate {
  try {
    const [certificate, ...others] = read()
    if (certificate === undefined || others.length >= MAX_CHAIN) throw new MalformedHeader('it has none, or too many')
    for (const der of [certificate, ...others]) assertCertificate(der)
    return presented([certificate, ...others])
  } catch (error) {
    const reason = error instanceof MalformedHeader ? error.message : 'it has something that is no certificate'
    return { kind: 'unreadable', reason: `the header ${name} is not valid: ${reason}` }
  }
}

/** RFC 9440 §2.2, §2.3. A header that is there twice is a list. */
function readClientCert(headers: IncomingHttpHeaders): readonly Buffer[] {
  const chain = String(headers['client-cert-chain'] ?? '')
  const others = chain === '' ? [] : chain.split(',').map((item) => item.trim())
  return [String(headers['client-cert']), ...others].map((item) => bytesOf(BYTE_SEQUENCE.exec(item)?.[1]))
}

/**
 * There must be one element. Of several, the last one is of the nearest proxy, and says who its client was, which may be another
 * proxy: tokens of all clients would be bound to the certificate of that one.
 */
function readForwardedClientCert(headers: IncomingHttpHeaders): readonly Buffer[] {
  const text = String(headers['x-forwarded-client-cert'])
  const members = new Map<string, string>()
  for (let at = 0, separator = ';'; separator !== ''; ) {
    MEMBER.lastIndex = at
    const [found, name = '', value = '', next = ''] = MEMBER.exec(text) ?? []
    if (found === undefined) throw new MalformedHeader('it is malformed')
    if (next === ',')
      throw new MalformedHeader('it has more than one element: the proxy must replace the header, not append to it')
    const member = name.toLowerCase()
    // Others may be there more than once, such as `DNS` for each name of the certificate, and say nothing that it does not.
    if (member === 'cert' || member === 'chain') {
      if (members.has(member)) throw new MalformedHeader('it has a member twice')
      members.set(member, value)
    }
    at += found.length
    separator = next
  }
  const [certificate, ...others] = certificatesIn(members.get('cert'))
  if (certificate === undefined || others.length > 0) throw new MalformedHeader('it must have one certificate in Cert')
  const chain = certificatesIn(members.get('chain')).filter((der) => !der.equals(certificate))
  return [certificate, ...chain]
}

/** Certificates in PEM, URL-encoded and perhaps in quotation marks. */
function certificatesIn(value: string | undefined): readonly Buffer[] {
  if (value === undefined) return []
  const pem = decodeURIComponent(value.startsWith('"') ? value.slice(1, -1) : value)
  if (pem.replace(CERTIFICATE, '') !== '') throw new MalformedHeader('there is something else than certificates in it')
  return [...pem.matchAll(CERTIFICATE)].map(([, text = '']) => bytesOf(text.replace(/\s/g, '')))
}

/** The bytes of base64 in its one spelling. */
function bytesOf(base64: string | undefined): Buffer {
  const bytes = Buffer.from(base64 ?? '', 'base64')
  if (bytes.length === 0 || bytes.toString('base64') !== base64) throw new MalformedHeader('it has no base64')
  return bytes
}

function assertCertificate(der: Buffer): void {
  if (!new X509Certificate(der).raw.equals(der)) throw new MalformedHeader('there is more than a certificate')
}
