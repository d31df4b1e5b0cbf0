/**
 * Closes the connections of clients whose authority is no longer trusted.
 *
 * The handshake checks a certificate once. What was checked against an authority that has been removed since must not go on;
 * `tls-files.ts` reads the authorities, and a new context has new ticket keys, so that no session is resumed.
 */
import type { Http2SecureServer } from 'node:http2'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'

/** An intermediate more than any authority has. */
const MAX_CHAIN = 20

export class ClientAuthorities {
  readonly #handshakeTimeout: number
  readonly #sockets = new Set<TLSSocket>()
  /** SHA-256 fingerprints of the authorities. */
  #trusted: ReadonlySet<string>
  /** Until then a handshake may end that began before authorities were removed. */
  #checksUntil = 0

  /**
   * @param trusted SHA-256 fingerprints of the authorities.
   * @param handshakeTimeout The longest time that a handshake takes, in milliseconds.
   */
  constructor(server: Http2SecureServer, trusted: ReadonlySet<string>, handshakeTimeout: number) {
    this.#trusted = trusted
    this.#handshakeTimeout = handshakeTimeout
    // Before the server looks for requests.
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      if (performance.now() < this.#checksUntil) this.#check(socket)
    })
  }

  /** Trusts these from now on. Must come after the server has them. */
  replace(trusted: ReadonlySet<string>): void {
    const lost = [...this.#trusted].some((fingerprint) => !trusted.has(fingerprint))
    this.#trusted = trusted
    if (!lost) return
    this.#checksUntil = performance.now() + this.#handshakeTimeout
    for (const socket of this.#sockets) this.#check(socket)
  }

  #check(socket: TLSSocket): void {
    // One that is destroyed has no certificate any more, although its `close` is still to come.
    if (!socket.destroyed && !this.#isTrusted(socket)) socket.destroy()
  }

  /** What cannot be checked is not trusted, and does not keep the others from being checked. */
  #isTrusted(socket: TLSSocket): boolean {
    try {
      const fingerprint = rootOf(socket.getPeerCertificate(true))
      return fingerprint !== undefined && this.#trusted.has(fingerprint)
    } catch {
      return false
    }
  }
}

/**
 * The fingerprint of the last certificate that is known of a chain; undefined if there is none, or if the chain is longer than
 * any should be.
 */
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
