/**
 * A service that takes the tokens of a server, with the middleware of `@keyturn/verify`, as the protected resource of the suite.
 */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createVerifier, expressMiddleware } from '../../packages/verify/src/index.ts'
import { readCertificate } from '../../src/http/tls/tls-files.ts'

/** A running service. */
export interface ResourceServer {
  /** What clients call, by GET. */
  readonly url: string
  stop(): void
}

/** Starts a service of a project. @param tls Files in PEM. */
export async function startResourceServer(
  issuer: string,
  audience: string,
  tls: { readonly certFile: string; readonly keyFile: string },
): Promise<ResourceServer> {
  // The protocol versions and cipher suites of Keyturn. Certificates of clients need nobody's trust: tokens name them.
  const server = createServer({
    ...(await readCertificate({ ...tls, clientCaFile: null })),
    requestCert: true,
    rejectUnauthorized: false,
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`
  const guard = expressMiddleware(createVerifier({ issuer, audience, dpop: { origin } }))
  server.on('request', (request, response) => {
    guard(request, response, (error) => {
      response.statusCode = error === undefined ? 200 : 500
      response.setHeader('content-type', 'application/json')
      response.end('{}')
    })
  })
  return { url: `${origin}/orders?all=true`, stop: () => server.close().closeAllConnections() }
}
