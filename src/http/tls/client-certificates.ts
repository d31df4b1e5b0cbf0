/**
 * The certificates of clients, as their TLS connections have them. Nothing is verified here but the possession of the private key, which
 * the handshake proves.
 */
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { PresentedCertificate } from '../../domain/identities/token-binding.ts'

/** Called when a request begins; what it returns reads the certificate of the client, also when the connection has been closed since then. */
export type CertificateReader = (req: IncomingMessage | Http2ServerRequest) => () => PresentedCertificate

export const NONE: PresentedCertificate = { kind: 'none' }
export const CLOSED: PresentedCertificate = { kind: 'unreadable', reason: 'its connection is closed' }

/** The most certificates that are read of one client. */
export const MAX_CHAIN = 10

export const noCertificates: CertificateReader = () => () => NONE

/** Makes a reader of certificates that were presented in TLS handshakes of this server. */
export function createHandshakeReader(): CertificateReader {
  // Node.js returns the certificates that came with the first one only when they are read for the first time.
  const known = new WeakMap<object, () => PresentedCertificate>()
  return (req) => {
    // `socket` of an HTTP/2 request would create a Proxy for each request.
    const connection = 'stream' in req ? req.stream.session : req.socket
    if (connection === undefined || connection.destroyed) return () => CLOSED
    const before = known.get(connection)
    if (before !== undefined) return before
    const certificate = presentedBy(('socket' in connection ? connection.socket : connection) as TLSSocket)
    const read = () => certificate
    known.set(connection, read)
    return read
  }
}

/** What a client has presented. @param chain In DER, the certificate first. */
export function presented(chain: readonly [Uint8Array, ...Uint8Array[]]): PresentedCertificate {
  return { kind: 'presented', thumbprint: hash('sha256', chain[0], 'base64url'), chain }
}

function presentedBy(socket: TLSSocket): PresentedCertificate {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return NONE
  const others: Uint8Array[] = []
  let issuer = certificate.issuerCertificate
  for (; issuer !== undefined && others.length < MAX_CHAIN - 1; issuer = issuer.issuerCertificate)
    others.push(issuer.raw)
  return presented([certificate.raw, ...others])
}
