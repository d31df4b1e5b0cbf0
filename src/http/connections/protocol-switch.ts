/**
 * Detects HTTP/2 with prior knowledge on a cleartext connection, by its first bytes (RFC 9113 §3.3).
 */
import type { Socket } from 'node:net'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Called with a connection once its protocol is known. */
export interface ProtocolHandlers {
  readonly http1: (socket: Socket) => void
  readonly http2: (socket: Socket) => void
}

/**
 * Reads the first bytes, puts them back and passes the connection to one of the handlers.
 *
 * @param timeout How long the client may take to send enough bytes, in milliseconds.
 */
export function switchProtocol(socket: Socket, timeout: number, handlers: ProtocolHandlers): void {
  let received = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), timeout)

  const stop = () => {
    clearTimeout(timer)
    socket.off('readable', read)
    socket.off('error', stop)
    socket.off('close', stop)
    socket.off('end', close)
  }
  // The server accepts half-open connections, so one that ends before its protocol is known must be closed here.
  const close = () => socket.destroy()
  const read = () => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      received = Buffer.concat([received, chunk])
    }
    const compared = Math.min(received.length, PREFACE.length)
    const mayBeHttp2 = received.subarray(0, compared).equals(PREFACE.subarray(0, compared))
    if (mayBeHttp2 && compared < PREFACE.length && !socket.readableEnded) return

    stop()
    socket.unshift(received)
    if (mayBeHttp2) handlers.http2(socket)
    else handlers.http1(socket)
  }
  socket.on('readable', read)
  socket.on('error', stop)
  socket.on('close', stop)
  socket.on('end', close)
}
