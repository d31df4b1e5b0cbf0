/**
 * A response that streams, in the JSON form of the Connect protocol ("Streaming RPCs"). Loaded by commands that follow something.
 */
import type { IncomingMessage } from 'node:http'
import {
  create,
  type DescMessage,
  type DescMethodStreaming,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toJsonString,
} from '@bufbuild/protobuf'
import type { StreamResponse } from '@connectrpc/connect'
import { connectionCode, connectionFailure } from './connection/connection-failure.ts'
import type { TlsOptions } from './connection/tls-files.ts'
import { headersOf, openRequest, parseJson, readAnswer } from './http-request.ts'
import { errorOf } from './json-error.ts'

/** Flags and length before each message. */
const ENVELOPE_BYTES = 5
/** The flag of the last message, which has the error, if there is one. */
const END = 2
/** The longest message that is read, in bytes. */
const MAX_BYTES = 16 << 20

/** What a call needs. */
export interface StreamCall<Input extends DescMessage> {
  readonly baseUrl: string
  readonly tls: TlsOptions
  readonly accessToken: string
  /** The request: one message. */
  readonly messages: AsyncIterable<MessageInitShape<Input>>
  /** The longest silence, in milliseconds. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/** Makes the call. Its messages end with a `ConnectionError` if the server is silent for too long or the connection is lost. */
export async function receiveStream<Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodStreaming<Input, Output>,
  call: StreamCall<Input>,
): Promise<StreamResponse<Input, Output>> {
  const silence = new Silence(call.timeoutMs)
  const signal = AbortSignal.any([silence.signal, ...(call.signal === undefined ? [] : [call.signal])])
  const failure = (error: unknown): unknown => {
    const cause = signal.aborted ? signal.reason : error
    return connectionCode(cause) === undefined ? cause : connectionFailure(cause, call.baseUrl, call.tls)
  }
  try {
    silence.interrupt()
    const response = await openRequest(new URL(`/${method.parent.typeName}/${method.name}`, call.baseUrl), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${call.accessToken}`,
        'connect-protocol-version': '1',
        'content-type': 'application/connect+json',
      },
      body: envelope(await requestOf(method, call.messages)),
      signal,
      tls: call.tls,
    })
    if (response.statusCode !== 200) {
      const answer = await readAnswer(response)
      throw errorOf(answer, parseJson(answer.body) as JsonValue | undefined)
    }
    return {
      stream: true,
      service: method.parent,
      method,
      header: headersOf({ status: 200, headers: response.headers, body: '' }),
      trailer: new Headers(),
      message: messagesOf(method.output, response, { silence, failure }),
    }
  } catch (error) {
    silence.end()
    throw failure(error)
  }
}

async function requestOf<Input extends DescMessage>(
  { input }: { readonly input: Input },
  messages: AsyncIterable<MessageInitShape<Input>>,
): Promise<string> {
  for await (const message of messages) return toJsonString(input, create(input, message))
  throw new Error('there is no request')
}

function envelope(json: string): Buffer {
  const payload = Buffer.from(json)
  const head = Buffer.alloc(ENVELOPE_BYTES)
  head.writeUInt32BE(payload.length, 1)
  return Buffer.concat([head, payload])
}

async function* messagesOf<Output extends DescMessage>(
  output: Output,
  response: IncomingMessage,
  { silence, failure }: { readonly silence: Silence; readonly failure: (error: unknown) => unknown },
): AsyncGenerator<MessageShape<Output>> {
  let received: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk])
      for (let message = firstOf(received); message !== undefined; message = firstOf(received)) {
        received = received.subarray(message.length)
        if (message.isEnd) return assertNoError(message.json, response)
        // Printing may take long: that is no silence of the server.
        silence.end()
        yield fromJson(output, message.json, { ignoreUnknownFields: true })
      }
      silence.interrupt()
    }
  } catch (error) {
    throw failure(error)
  } finally {
    silence.end()
    response.destroy()
  }
  throw failure(Object.assign(new Error('the stream was cut off'), { code: 'ECONNRESET' }))
}

interface Envelope {
  readonly isEnd: boolean
  readonly json: JsonValue
  /** In bytes, with the envelope. */
  readonly length: number
}

/** The first message; undefined if it is not complete. */
function firstOf(bytes: Buffer): Envelope | undefined {
  if (bytes.length < ENVELOPE_BYTES) return undefined
  const length = ENVELOPE_BYTES + bytes.readUInt32BE(1)
  if (length > MAX_BYTES) throw new Error(`a message of the answer is larger than ${MAX_BYTES} bytes`)
  if (bytes.length < length) return undefined
  const json = JSON.parse(bytes.toString('utf8', ENVELOPE_BYTES, length)) as JsonValue
  return { isEnd: (bytes.readUInt8(0) & END) !== 0, json, length }
}

function assertNoError(end: JsonValue, { headers }: IncomingMessage): void {
  const error = typeof end === 'object' && end !== null && !Array.isArray(end) ? end.error : undefined
  if (error !== undefined) throw errorOf({ status: 200, headers, body: '' }, error)
}

/** Aborts its signal after a silence. */
class Silence {
  readonly #milliseconds: number
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** It begins now. */
  interrupt(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#controller.abort(new DOMException('the server has sent nothing', 'TimeoutError'))
    }, this.#milliseconds)
  }

  /** There is none to wait for. */
  end(): void {
    clearTimeout(this.#timer)
  }
}
