/**
 * A wire that tests can cut: forwards TCP connections to a port of this machine until it is told otherwise.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

/** A running proxy. */
export interface TcpProxy {
  readonly port: number
  /** How many connections there have been. */
  readonly accepted: number
  /** From now on the connections that are open carry nothing, and nobody is told. New ones work. */
  freeze(): void
  close(): Promise<void>
}

/** How a client of PostgreSQL says that it is done. */
const GOODBYE = Buffer.from([0x58, 0, 0, 0, 4])

/**
 * Starts a proxy on 127.0.0.1; port 0 picks one. A silent one takes connections and never answers; a rude one resets
 * connections to PostgreSQL whose client says goodbye.
 */
export async function startTcpProxy(
  targetPort: number,
  port = 0,
  { silent = false, rude = false } = {},
): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer((near) => {
    accepted += 1
    if (silent) {
      sockets.add(near)
      near.on('error', () => {})
      return
    }
    const far = connect(targetPort, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => sockets.delete(socket))
      socket.pipe(other)
    }
    if (rude) {
      near.on('data', (data) => {
        if (data.equals(GOODBYE)) near.resetAndDestroy()
      })
    }
  })
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  return {
    port: portOf(server),
    get accepted() {
      return accepted
    },
    freeze: () => {
      for (const socket of sockets) {
        socket.unpipe()
        socket.pause()
      }
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return address.port
}
