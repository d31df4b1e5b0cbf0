/**
 * Ports for servers that tests start, and perhaps kill and start again on the same one.
 */
import { createServer } from 'node:net'

/**
 * Below what systems hand to outgoing connections, one of which could take the port while its server is away. Runs of jest beside
 * each other begin at different ports.
 */
const FIRST = Number(process.env.KEYTURN_TEST_FIRST_PORT ?? 10_000)
const COUNT = 6_000
/** Processes of jest that run at the same time pick from different ports. */
const LANES = 8
const LANE = Number(process.env.JEST_WORKER_ID ?? 0) % LANES

/** Whoever has got one may not have begun to listen. */
const given = new Set<number>()

/** A port of 127.0.0.1 on which nothing listens, and which nobody else has got from here. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + LANES * Math.floor((Math.random() * COUNT) / LANES) + LANE
    if (given.has(port)) continue
    given.add(port)
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
