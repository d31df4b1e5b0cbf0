/**
 * TLS connections that have not asked for anything yet: still shaking hands, or opened ahead of need.
 *
 * Node does not count them as idle, so a server that stops would wait for them until its grace is over.
 */
import type { Http2SecureServer } from 'node:http2'
import type { Socket } from 'node:net'

/** Follows them from now on. @returns What closes those there are. */
export function trackQuietConnections(server: Http2SecureServer): () => void {
  // By the peer's address, which is what the TCP connection and the TLS connection over it have in common.
  const quiet = new Map<string, Socket>()
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket)
    quiet.set(peer, socket)
    socket.once('close', () => {
      if (quiet.get(peer) === socket) quiet.delete(peer)
    })
  })
  // HTTP/2 sessions are told to go and end by themselves; they need not be followed further.
  server.on('session', (session) => quiet.delete(peerOf(session.socket)))
  server.prependListener('request', (req) => {
    if (quiet.size > 0) quiet.delete(peerOf(req.socket))
  })
  return () => {
    for (const socket of quiet.values()) socket.destroy()
  }
}

function peerOf({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`
}
