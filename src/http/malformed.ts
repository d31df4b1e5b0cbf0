/**
 * Answers to what Node cannot read as a request, in the form of all other errors.
 */
import type { Server } from 'node:http'
import type { Http2SecureServer } from 'node:http2'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Connections } from './connections.ts'
import { OVER_TLS } from './exchange.ts'

/** An answer that is written without Node. */
export interface RawAnswer {
  readonly status: string
  /** Default `invalid_request`. */
  readonly error?: string
  readonly description: string
  readonly headers?: readonly string[]
}

const TOO_LATE = { status: '408 Request Timeout', description: 'the request took too long to arrive' }
const TOO_LONG = { status: '431 Request Header Fields Too Large', description: 'the head of the request is too long' }
const MALFORMED = { status: '400 Bad Request', description: 'this is not a request that HTTP allows' }

const ANSWERS: Readonly<Record<string, RawAnswer>> = {
  ERR_HTTP_REQUEST_TIMEOUT: TOO_LATE,
  HPE_HEADER_OVERFLOW: TOO_LONG,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: '413 Content Too Large', description: 'chunks have too long extensions' },
}

/** How long the client may take to receive the answer, in milliseconds. */
const TIMEOUT = 1_000

/** Lets a server answer and close the connection. */
export function answerMalformed(server: Server | Http2SecureServer, connections: Connections): void {
  server.on('clientError', (error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Duplex) => {
    const code = error.code ?? ''
    const readable = (code in ANSWERS || code.startsWith('HPE_')) && looksLikeHttp(error.rawPacket)
    if (readable) refuseAndClose(socket, connections, ANSWERS[code] ?? MALFORMED)
    else socket.destroy()
  })
}

/** Answers a request of HTTP/1.1 that has not come to its end, and closes its connection. */
export function refuseAndClose(socket: Duplex, connections: Connections, answer: RawAnswer): void {
  // While an earlier request of the connection is being answered, this would be taken for its answer.
  if (!socket.writable || connections.isAnswering(socket)) {
    socket.destroy()
    return
  }
  const timer = setTimeout(() => socket.destroy(), TIMEOUT)
  socket.once('close', () => clearTimeout(timer))
  socket.end(textOf(answer, socket instanceof TLSSocket), () => socket.destroy())
}

/** Whoever speaks TLS or something else in bytes would not understand the answer. */
function looksLikeHttp(packet: Buffer | undefined): boolean {
  const first = packet?.[0] ?? 0x0a
  return (first > 0x20 && first < 0x7f) || first === 0x0a || first === 0x0d
}

function textOf({ status, error = 'invalid_request', description, headers = [] }: RawAnswer, secure: boolean): string {
  const body = JSON.stringify({ error, error_description: description })
  return [
    `HTTP/1.1 ${status}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${body.length}`,
    'cache-control: no-store',
    'pragma: no-cache',
    'x-content-type-options: nosniff',
    ...(secure ? [OVER_TLS.join(': ')] : []),
    'connection: close',
    ...headers,
    '',
    body,
  ].join('\r\n')
}
