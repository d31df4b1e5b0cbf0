/**
 * Checks that a request comes with the client certificate to which its token is bound (RFC 8705 §3).
 *
 * The possession of the private key is proved in the TLS handshake, and the certificate need not be one that anything trusts.
 */
import { base64url } from 'jose'

/** In DER or PEM; of a PEM text with several the first one counts. Undefined or null: there is none. */
export type ClientCertificate = Uint8Array | string | null | undefined

/** What is used of a TLS socket of Node.js. */
interface TlsSocket {
  getPeerX509Certificate?(): { readonly raw: Uint8Array } | undefined
}

/** What has a socket: requests of Express, `node:http` and Fastify; contexts of Hono with its server for Node.js. */
interface WithSocket {
  readonly socket?: TlsSocket | undefined
  readonly env?: { readonly incoming?: { readonly socket?: TlsSocket | undefined } | undefined } | undefined
}

const PEM = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/

/** The certificate of the TLS connection of a request, if the server has asked for one. */
export function connectionCertificate(request: object): ClientCertificate {
  const { socket, env } = request as WithSocket
  return (socket ?? env?.incoming?.socket)?.getPeerX509Certificate?.()?.raw
}

/**
 * Compares a certificate with a SHA-256 thumbprint in base64url (`x5t#S256`). Constant-time in the thumbprint.
 *
 * @returns `unreadable` for a text that is no certificate in PEM.
 */
export async function compareThumbprint(
  certificate: ClientCertificate,
  thumbprint: string,
): Promise<'same' | 'other' | 'none' | 'unreadable'> {
  if (certificate === null || certificate === undefined || certificate.length === 0) return 'none'
  const der = typeof certificate === 'string' ? derOf(certificate) : certificate
  if (der === undefined) return 'unreadable'
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.from(der)))
  return isSame(base64url.encode(digest), thumbprint) ? 'same' : 'other'
}

function derOf(pem: string): Uint8Array | undefined {
  const content = PEM.exec(pem)?.[1]?.replace(/\s/g, '')
  try {
    return content === undefined ? undefined : Uint8Array.from(atob(content), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length
  for (let i = 0; i < one.length; i += 1) difference |= one.charCodeAt(i) ^ other.charCodeAt(i)
  return difference === 0
}
