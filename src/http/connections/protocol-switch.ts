/**
 * Tells HTTP/2 with prior knowledge from HTTP/1.1 on a cleartext connection, by its first bytes (RFC 9113 §3.3).
 */
import type { Socket } from 'node:net'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Takes a connection whose protocol is known. */
export interface ProtocolHandlers {
  readonly http1: (socket: Socket) => void
  readonly http2: (socket: Socket) => void
}

/**
 * Reads as much as it takes to tell, puts it back and hands the connection on.
 *
 * @param timeout How long a connection may take to say enough, in milliseconds.
 */
export function switchProtocol(socket: Socket, timeout: number, handlers: ProtocolHandlers): void {
  let received = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), timeout)

  const stop = () => {
    clearTimeout(timer)
    socket.off('readable', read)
    socket.off('error', stop)
    socket.off('close', stop)
    socket.off('end', leave)
  }
  // The server accepts connections half-open, so one that ends before it has said enough must be closed here.
  const leave = () => socket.destroy()
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
  // A connection that breaks this early has nobody to tell.
  socket.on('error', stop)
  socket.on('close', stop)
  socket.on('end', leave)
}
