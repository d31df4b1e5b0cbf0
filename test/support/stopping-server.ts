/**
 * Clients of a server that is told to stop: what they have begun by then, and how they see that it stops.
 */
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect } from '@jest/globals'
import { eventually } from './eventually.ts'
import type { Keyturn } from './keyturn.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'

/** A token request of the administrator: its body, and where it goes. */
export interface TokenRequest {
  readonly url: URL
  readonly form: string
}

/** The body of its answer. */
export const aToken = expect.objectContaining({ access_token: expect.any(String), token_type: 'Bearer' })

/** The request for a server. */
export async function tokenRequestTo(server: Keyturn): Promise<TokenRequest> {
  const { client_id, client_secret } = await server.admin()
  const form = String(new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }))
  return { form, url: new URL('/oauth/v2/token', server.listenUrl) }
}

/** Connections of a test. Closing them ends what is left. */
export class TestClients {
  readonly #opened: { destroy(): void }[] = []

  add(client: { destroy(): void }): void {
    this.#opened.push(client)
  }

  close(): void {
    for (const client of this.#opened.splice(0)) client.destroy()
  }

  /** A request over HTTP/1.1 whose head the server has read and whose body it waits for. */
  async beginRequest({ url, form }: TokenRequest): Promise<http.ClientRequest> {
    const request = http.request(url, {
      method: 'POST',
      agent: new http.Agent({ keepAlive: true }),
      headers: { 'content-type': FORM_TYPE, 'content-length': form.length, expect: '100-continue' },
    })
    this.add(request)
    request.flushHeaders()
    await once(request, 'continue')
    return request
  }

  /** A connection of HTTP/2, which may be cut when the server ends. */
  async openSession({ origin }: URL): Promise<http2.ClientHttp2Session> {
    const session = http2.connect(origin)
    this.add(session)
    session.on('error', () => {})
    await once(session, 'remoteSettings')
    return session
  }
}

/** Sends it over HTTP/1.1, and reads the token. */
export async function askOnce({ url, form }: TokenRequest): Promise<void> {
  const headers = { 'content-type': FORM_TYPE, 'content-length': form.length }
  const request = http.request(url, { method: 'POST', agent: false, headers })
  request.end(form)
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  expect(await json(answer)).toEqual(aToken)
}

/** Begins it over HTTP/2. */
export function beginStream(session: http2.ClientHttp2Session, { pathname }: URL): http2.ClientHttp2Stream {
  return session.request({ ':method': 'POST', ':path': pathname, 'content-type': FORM_TYPE })
}

/** Waits until a server takes no more connections. */
export async function untilClosed({ listenUrl }: Keyturn): Promise<void> {
  await eventually(async () => {
    const socket = connect(Number(new URL(listenUrl).port), '127.0.0.1')
    try {
      await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    } finally {
      socket.destroy()
    }
  })
}
