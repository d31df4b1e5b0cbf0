/**
 * Ports for servers that are killed and come back on the same one.
 */
import { createServer } from 'node:net'

/** Below what systems hand to outgoing connections, one of which could take the port while its server is away. */
const FIRST = 10_000
const COUNT = 6_000

/** A port of 127.0.0.1 on which nothing listens, and which no outgoing connection gets. */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
