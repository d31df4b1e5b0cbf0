/**
 * Answers to what Node cannot read as a request, in the form of all other errors.
 */
import { type Server, STATUS_CODES } from 'node:http'
import type { Http2SecureServer } from 'node:http2'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Connections } from '../connections/connections.ts'
import { errorBody, NO_SNIFFING, OVER_TLS, type Refusal } from './exchange.ts'

const INVALID = 'invalid_request'

const MALFORMED: Refusal = { status: 400, code: INVALID, description: 'this is not a request that HTTP allows' }

/** The refusal of a request whose head is longer than so many bytes (RFC 6585 §5). */
export function headTooLong(maxHeadBytes: number): Refusal {
  return { status: 431, code: INVALID, description: `the head of the request is longer than ${maxHeadBytes} bytes` }
}

/** The refusals of requests that are HTTP, by the code of Node's error. */
function refusals(maxHeadBytes: number): Readonly<Record<string, Refusal>> {
  return {
    ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: INVALID, description: 'the request took too long to arrive' },
    HPE_HEADER_OVERFLOW: headTooLong(maxHeadBytes),
    HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: INVALID, description: 'chunks have too long extensions' },
  }
}

/** How long the client may take to receive the answer, in milliseconds. */
const TIMEOUT = 1_000

/** Lets a server answer and close the connection. */
export function answerParseError(
  server: Server | Http2SecureServer,
  {
    connections,
    maxHeadBytes,
    isRefused,
  }: {
    readonly connections: Connections
    readonly maxHeadBytes: number
    /** Whether the last answer of a connection is on its way already. */
    readonly isRefused: (socket: Duplex) => boolean
  },
): void {
  const known = refusals(maxHeadBytes)
  server.on('clientError', (error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Duplex) => {
    if (isRefused(socket)) return
    const code = error.code ?? ''
    const readable = (code in known || code.startsWith('HPE_')) && looksLikeHttp(error.rawPacket)
    if (readable) refuseAndClose(socket, connections, known[code] ?? MALFORMED)
    else socket.destroy()
  })
}

/** Answers a request of HTTP/1.1 that has not come to its end, and closes its connection. */
export function refuseAndClose(socket: Duplex, connections: Connections, refusal: Refusal): void {
  // While an earlier request of the connection is being answered, this would be taken for its answer.
  if (!socket.writable || connections.isAnswering(socket)) {
    socket.destroy()
    return
  }
  const timer = setTimeout(() => socket.destroy(), TIMEOUT)
  socket.once('close', () => clearTimeout(timer))
  socket.end(textOf(refusal, socket instanceof TLSSocket), () => socket.destroy())
}

/** Whoever speaks TLS or something else in bytes would not understand the answer. */
function looksLikeHttp(packet: Buffer | undefined): boolean {
  const first = packet?.[0] ?? 0x0a
  return (first > 0x20 && first < 0x7f) || first === 0x0a || first === 0x0d
}

/** The answer as it is sent, without Node. */
function textOf(refusal: Refusal, secure: boolean): string {
  const { status, headers = {} } = refusal
  const body = JSON.stringify(errorBody(refusal))
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${body.length}`,
    'cache-control: no-store',
    'pragma: no-cache',
    NO_SNIFFING.join(': '),
    ...(secure ? [OVER_TLS.join(': ')] : []),
    'connection: close',
    ...Object.entries(headers).map((pair) => pair.join(': ')),
    '',
    body,
  ].join('\r\n')
}
