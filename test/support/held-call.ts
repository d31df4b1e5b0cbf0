/**
 * Calls whose last byte is held back: the head of the request and all of the body but its end are sent, the rest waits.
 */

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2'
import { buffer, json } from 'node:stream/consumers'
import { type DescMethodUnary, fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf'

/** The header by which a server under test knows such a call. */
export const HELD_CALL = 'x-held-call'

/** A call to make. */
export interface Call {
  readonly method: DescMethodUnary
  /** The request, as JSON. */
  readonly message: JsonValue
  readonly token: string
  /** The value of `HELD_CALL`. */
  readonly id: string
}

/** What a caller is told. */
export interface Answer {
  /** `ok`, or the word of Connect for the error. */
  readonly code: string
  /** The challenge of a call that is not authenticated (RFC 9110 §11.6.1). */
  readonly challenge?: string
  readonly body: JsonValue
}

/** A call that waits for its end. */
export interface HeldCall {
  readonly id: string
  /** Sends the last byte. */
  finish(): Promise<Answer>
}

/** Over HTTP/1.1, on a connection of its own: Connect with JSON. */
export function holdOverHttp1(url: string, call: Call): Promise<HeldCall> {
  const body = Buffer.from(JSON.stringify(call.message))
  const headers = { ...headersOf(call), 'content-type': 'application/json', 'content-length': body.length }
  const outgoing = request(url + pathOf(call), { method: 'POST', headers, agent: false })
  return hold(call, outgoing, body, async (response: IncomingMessage) =>
    connectAnswer(Number(response.statusCode), response.headers, (await json(response)) as JsonValue),
  )
}

/** Over HTTP/2: Connect with JSON. */
export function holdOverHttp2(session: ClientHttp2Session, call: Call): Promise<HeldCall> {
  const body = Buffer.from(JSON.stringify(call.message))
  const stream = begin(session, call, { 'content-type': 'application/json' })
  return hold(call, stream, body, async (headers: IncomingHttpHeaders) =>
    connectAnswer(Number(headers[':status']), headers, (await json(stream)) as JsonValue),
  )
}

/** gRPC with protobuf. What is held back of an empty message is the end of its length. */
export function holdOverGrpc(session: ClientHttp2Session, call: Call): Promise<HeldCall> {
  const { method, message } = call
  const bytes = toBinary(method.input, fromJson(method.input, message))
  const body = Buffer.concat([Buffer.alloc(5), bytes])
  body.writeUInt32BE(bytes.length, 1)
  const stream = begin(session, call, { 'content-type': 'application/grpc+proto', te: 'trailers' })
  let trailers: IncomingHttpHeaders = {}
  stream.once('trailers', (received) => {
    trailers = received
  })
  return hold(call, stream, body, async (headers: IncomingHttpHeaders) => {
    const envelope = await buffer(stream)
    const fields = { ...headers, ...trailers }
    const status = Number(fields['grpc-status'])
    if (status !== 0) return { code: GRPC_CODES[status] ?? `grpc-status ${status}`, ...challengeOf(fields), body: {} }
    return { code: 'ok', body: toJson(method.output, fromBinary(method.output, envelope.subarray(5))) }
  })
}

/** Sends all of the body but its last byte. @param read Makes an answer of what comes with the event `response`. */
async function hold<Response>(
  { id }: Call,
  outgoing: NodeJS.WritableStream,
  body: Buffer,
  read: (response: Response) => Promise<Answer>,
): Promise<HeldCall> {
  const answered = once(outgoing, 'response')
  // Awaited when the call is finished.
  answered.catch(() => {})
  await written(outgoing, body.subarray(0, -1))
  return {
    id,
    finish: async () => {
      outgoing.end(body.subarray(-1))
      const [response] = await answered
      return read(response)
    },
  }
}

const GRPC_CODES: Readonly<Record<number, string>> = {
  5: 'not_found',
  7: 'permission_denied',
  14: 'unavailable',
  16: 'unauthenticated',
}

function connectAnswer(status: number, headers: IncomingHttpHeaders, body: JsonValue): Answer {
  if (status === 200) return { code: 'ok', body }
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : `status ${status}`
  return { code, ...challengeOf(headers), body }
}

function challengeOf(headers: IncomingHttpHeaders): Pick<Answer, 'challenge'> {
  const challenge = headers['www-authenticate']
  return challenge === undefined ? {} : { challenge }
}

function begin(session: ClientHttp2Session, call: Call, headers: Record<string, string>) {
  return session.request({ ':method': 'POST', ':path': pathOf(call), ...headersOf(call), ...headers })
}

function pathOf({ method }: Call): string {
  return `/${method.parent.typeName}/${method.name}`
}

function headersOf({ token, id }: Call): Record<string, string> {
  return { authorization: `Bearer ${token}`, [HELD_CALL]: id }
}

/** Resolves when the system has taken the bytes. */
function written(stream: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}
