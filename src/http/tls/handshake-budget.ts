/**
 * Bounds the memory of the certificates that clients present. OpenSSL keeps them for as long as a connection is open, up to 100 KB each, also
 * those that nothing uses.
 *
 * What a connection has received when its handshake ends is counted, with the first bytes of a request that may have come along. Small
 * handshakes always pass. Together the large ones may have so many bytes; further ones are closed.
 */
import type { Socket } from 'node:net'

/** No handshake of a real client is larger, with the certificates of a few authorities and a usual request. */
const SMALL_BYTES = 16 * 1024

/** Of all large handshakes whose connections are open. OpenSSL takes about three times as much. */
const MAX_BYTES = 16 * 1024 * 1024

export class HandshakeBudget {
  readonly #maxBytes: number
  #bytes = 0

  /** @param maxBytes Of large handshakes at a time. */
  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Counts the handshake of a connection until it is closed, or closes it. */
  add(socket: Socket): void {
    const { bytesRead } = socket
    if (bytesRead <= SMALL_BYTES) return
    if (this.#bytes + bytesRead > this.#maxBytes) {
      socket.destroy()
      return
    }
    this.#bytes += bytesRead
    socket.once('close', () => {
      this.#bytes -= bytesRead
    })
  }
}
