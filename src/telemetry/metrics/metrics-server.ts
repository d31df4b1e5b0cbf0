/** The address that Prometheus scrapes, for the metrics of this process or of all workers. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ListenAddress } from '../../config/values.ts'
import type { Log } from '../../domain/ports/runtime.ts'

/** They must not use up the open files that the server needs for its work. */
const MAX_CONNECTIONS = 50

/** Slow heads keep others away for no longer, in milliseconds. */
const TIMEOUTS = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 }

/**
 * Serves what `text` returns at `/metrics`, until the returned function is called.
 *
 * If the address is in use, the server runs without: several servers on one machine have the same default.
 *
 * @param address Null: metrics are off.
 */
export async function serveMetrics(
  address: ListenAddress | null,
  text: () => Promise<string>,
  log: Log,
): Promise<() => Promise<void>> {
  if (address === null) return async () => {}

  const server = createServer(TIMEOUTS, (req, res) => {
    if (req.url?.split('?', 1)[0] !== '/metrics') {
      res.writeHead(404).end()
      return
    }
    text().then(
      (metrics) => res.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(metrics),
      (error: unknown) => {
        log.warn({ err: error }, 'the metrics could not be read')
        res.writeHead(500).end()
      },
    )
  })
  server.maxConnections = MAX_CONNECTIONS
  try {
    server.listen(address)
    await once(server, 'listening')
  } catch (error) {
    log.warn({ err: error }, 'metrics are not served: set KEYTURN_METRICS_LISTEN to another address or to "off"')
    return async () => {}
  }
  server.on('error', (error) => log.warn({ err: error }, 'the metrics address failed'))
  return async () => {
    // Scrapes may be cut off, and `close` alone would wait for idle connections.
    server.close()
    server.closeAllConnections()
  }
}
