/**
 * Closes the connections of clients whose certificate authority has been removed.
 *
 * The handshake checks a certificate once, so open connections are checked again when authorities are removed. A new secure context
 * has new ticket keys, so that no TLS session is resumed. `tls-files.ts` reads the authorities.
 */
import type { Http2SecureServer } from 'node:http2'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'

/** More certificates than a real chain has. */
const MAX_CHAIN = 20

export class ClientAuthorities {
  readonly #handshakeTimeout: number
  readonly #sockets = new Set<TLSSocket>()
  /** SHA-256 fingerprints of the authorities. */
  #trusted: ReadonlySet<string>
  /** Handshakes that began before authorities were removed have ended by then. */
  #checksUntil = 0

  /**
   * @param trusted SHA-256 fingerprints of the authorities.
   * @param handshakeTimeout In milliseconds.
   */
  constructor(server: Http2SecureServer, trusted: ReadonlySet<string>, handshakeTimeout: number) {
    this.#trusted = trusted
    this.#handshakeTimeout = handshakeTimeout
    // Before the server reads requests.
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      if (performance.now() < this.#checksUntil) this.#check(socket)
    })
  }

  /** Replaces the trusted authorities. Call it after the server has them. */
  replace(trusted: ReadonlySet<string>): void {
    const lost = [...this.#trusted].some((fingerprint) => !trusted.has(fingerprint))
    this.#trusted = trusted
    if (!lost) return
    this.#checksUntil = performance.now() + this.#handshakeTimeout
    for (const socket of this.#sockets) this.#check(socket)
  }

  #check(socket: TLSSocket): void {
    // A destroyed socket has no certificate, although `close` has not been emitted yet.
    if (!socket.destroyed && !this.#isTrusted(socket)) socket.destroy()
  }

  /** An error counts as not trusted, so that the other sockets are still checked. */
  #isTrusted(socket: TLSSocket): boolean {
    try {
      const fingerprint = rootOf(socket.getPeerCertificate(true))
      return fingerprint !== undefined && this.#trusted.has(fingerprint)
    } catch {
      return false
    }
  }
}

/** The fingerprint of a chain's last certificate; undefined if there is no certificate or the chain is too long. */
function rootOf(leaf: Partial<DetailedPeerCertificate> | null): string | undefined {
  if (leaf === null) return undefined
  let certificate = leaf
  for (let i = 0; i < MAX_CHAIN; i += 1) {
    const { issuerCertificate } = certificate
    // A root is its own issuer.
    if (issuerCertificate === undefined || issuerCertificate === certificate) return certificate.fingerprint256
    certificate = issuerCertificate
  }
  return undefined
}
