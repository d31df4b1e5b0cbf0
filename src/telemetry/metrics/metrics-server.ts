/**
 * The address at which Prometheus scrapes, whoever knows the metrics: this process, or the sum of several.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ListenAddress } from '../../config/values.ts'
import type { Log } from '../../domain/ports.ts'

/**
 * Serves what `text` returns at `/metrics`, until the returned function is called.
 *
 * An address that is taken costs the metrics and not the service: several processes on one machine share a default.
 *
 * @param address Null: nothing is served.
 */
export async function serveMetrics(
  address: ListenAddress | null,
  text: () => Promise<string>,
  log: Log,
): Promise<() => Promise<void>> {
  if (address === null) return async () => {}

  const server = createServer((req, res) => {
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
  try {
    server.listen(address)
    await once(server, 'listening')
  } catch (error) {
    log.warn({ err: error }, 'metrics are not served: set KEYTURN_METRICS_LISTEN to another address or to "off"')
    return async () => {}
  }
  return async () => {
    // Nothing is lost by cutting a scrape off, and a connection without a request would be waited for.
    server.close()
    server.closeAllConnections()
  }
}
