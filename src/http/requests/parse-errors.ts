/**
 * Responses to bytes that Node cannot parse as a request, in the format of all other errors.
 */
import { type Server, STATUS_CODES } from 'node:http'
import type { Http2SecureServer } from 'node:http2'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Connections } from '../connections/connections.ts'
import { errorBody, HSTS, NO_SNIFF, type Refusal } from './exchange.ts'

const INVALID = 'invalid_request'

const MALFORMED: Refusal = { status: 400, code: INVALID, description: 'this is not a request that HTTP allows' }

/** 431 (RFC 6585 §5). */
export function headTooLong(maxHeadBytes: number): Refusal {
  return { status: 431, code: INVALID, description: `the head of the request is longer than ${maxHeadBytes} bytes` }
}

/** Refusals by the code of Node's error. */
function refusals(maxHeadBytes: number): Readonly<Record<string, Refusal>> {
  return {
    ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: INVALID, description: 'the request took too long to arrive' },
    HPE_HEADER_OVERFLOW: headTooLong(maxHeadBytes),
    HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: INVALID, description: 'chunks have too long extensions' },
  }
}

/** How long the client may take to receive the response, in milliseconds. */
const TIMEOUT = 1_000

/** Makes a server answer parse errors and close the connection. */
export function answerParseErrors(
  server: Server | Http2SecureServer,
  {
    connections,
    maxHeadBytes,
    isPoisoned,
  }: {
    readonly connections: Connections
    readonly maxHeadBytes: number
    /** Whether a badly framed request came before on a connection, so that it is being closed already. */
    readonly isPoisoned: (socket: Duplex) => boolean
  },
): void {
  const known = refusals(maxHeadBytes)
  server.on('clientError', (error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Duplex) => {
    if (isPoisoned(socket)) return
    const code = error.code ?? ''
    const isHttp = (code in known || code.startsWith('HPE_')) && looksLikeHttp(error.rawPacket)
    if (isHttp) refuseAndClose(socket, connections, known[code] ?? MALFORMED)
    else socket.destroy()
  })
}

/** Refuses an incomplete HTTP/1.1 request and closes its connection. */
export function refuseAndClose(socket: Duplex, connections: Connections, refusal: Refusal): void {
  // The client would take this for the response to an earlier request that is not answered.
  if (!socket.writable || connections.isResponding(socket)) {
    socket.destroy()
    return
  }
  const timer = setTimeout(() => socket.destroy(), TIMEOUT)
  socket.once('close', () => clearTimeout(timer))
  socket.end(textOf(refusal, socket instanceof TLSSocket), () => socket.destroy())
}

/** Whether the first byte is text. A client of TLS or another binary protocol would not understand the response. */
function looksLikeHttp(packet: Buffer | undefined): boolean {
  const first = packet?.[0] ?? 0x0a
  return (first > 0x20 && first < 0x7f) || first === 0x0a || first === 0x0d
}

/** The bytes of a response, for a socket without a `ServerResponse`. */
function textOf(refusal: Refusal, secure: boolean): string {
  const { status, headers = {} } = refusal
  const body = JSON.stringify(errorBody(refusal))
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${body.length}`,
    'cache-control: no-store',
    'pragma: no-cache',
    NO_SNIFF.join(': '),
    ...(secure ? [HSTS.join(': ')] : []),
    'connection: close',
    ...Object.entries(headers).map((pair) => pair.join(': ')),
    '',
    body,
  ].join('\r\n')
}
