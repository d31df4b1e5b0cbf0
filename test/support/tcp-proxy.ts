/**
 * A wire that tests can cut: forwards TCP connections to a port of this machine until it is told otherwise.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

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
 * Starts a proxy on 127.0.0.1, on a free port unless one is given. A silent one takes connections and never answers; a
 * rude one resets connections to PostgreSQL whose client says goodbye.
 */
export async function startTcpProxy(
  targetPort: number,
  port?: number,
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
  const ownPort = port ?? (await freePort())
  server.listen(ownPort, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: ownPort,
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
