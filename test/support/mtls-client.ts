/**
 * Requests over TLS with a client certificate, over HTTP/1.1 and HTTP/2, and the settings of a server with TLS.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import type { TestCertificate } from './certificates.ts'

const FIXTURES = join(import.meta.dirname, 'tls')

/** Settings of a server with TLS of its own. */
export const TLS_SETTINGS = {
  KEYTURN_TLS_CERT_FILE: join(FIXTURES, 'first.cert.pem'),
  KEYTURN_TLS_KEY_FILE: join(FIXTURES, 'first.key.pem'),
}

/** A certificate and its private key, as PEM. */
type Presented = Pick<TestCertificate, 'pem' | 'keyPem'>

/** Options of TLS that present a certificate and others with it. Undefined: none. */
export function presenting(certificate: Presented | undefined, others: readonly TestCertificate[] = []) {
  const trust = { rejectUnauthorized: false }
  if (certificate === undefined) return trust
  const cert = [certificate, ...others].map(({ pem }) => pem).join('')
  return { ...trust, cert, key: certificate.keyPem }
}

/** A `fetch` that presents a certificate, each time on a new connection unless an agent is given. */
export function fetchWith(
  certificate?: Presented,
  { others = [], agent = new Agent({ keepAlive: false }) }: { others?: readonly TestCertificate[]; agent?: Agent } = {},
): (input: string | URL | Request, init?: object) => Promise<Response> {
  return async (input, init) => {
    const { url, method, headers, body } = new Request(input, init)
    const content = body === null ? undefined : await buffer(body)
    const outgoing = request(url, {
      method,
      headers: {
        ...Object.fromEntries(headers),
        ...(content === undefined ? {} : { 'content-length': content.length }),
      },
      agent,
      ...presenting(certificate, others),
    })
    outgoing.end(content)
    const [response] = await once(outgoing, 'response')
    const received = await text(response)
    const { statusCode: status } = response
    return new Response(status === 204 || status === 304 ? null : received, {
      status,
      headers: Object.entries(response.headers as Record<string, string | string[]>).flatMap(([name, value]) =>
        [value].flat().map((each): [string, string] => [name, each]),
      ),
    })
  }
}
