/**
 * Calls of the API in the JSON form of the Connect protocol: unary methods, and those whose response streams. The transport of
 * `@connectrpc/connect-node`, which also speaks gRPC over HTTP/2, takes a fifth of the time of a command to load.
 */
import { create, fromJson, type JsonValue, toJsonString } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { connectionCode, connectionFailure } from './connection/connection-failure.ts'
import type { TlsOptions } from './connection/tls-files.ts'
import { type HttpAnswer, headersOf, parseJson, sendRequest } from './http-request.ts'

/** The largest response that is read, in bytes: pages of the API have up to 1,000 items. */
const MAX_BYTES = 64 << 20

/** What calls need. */
export interface JsonTransportOptions {
  readonly baseUrl: string
  readonly tls: TlsOptions
  /** Called before each call. */
  readonly accessToken: () => Promise<string>
  /** Of a call, in milliseconds. */
  readonly timeoutMs: number
}

/** A transport for a client of any service. Its calls throw a `ConnectionError` if there is no answer. */
export function createJsonTransport(options: JsonTransportOptions): Transport {
  const { accessToken, timeoutMs } = options
  return {
    async unary(method, signal, _timeoutMs, _header, input) {
      const answer = await send(options, {
        path: `/${method.parent.typeName}/${method.name}`,
        accessToken: await accessToken(),
        body: toJsonString(method.input, create(method.input, input)),
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]),
      })
      const document = parseJson(answer.body) as JsonValue | undefined
      if (answer.status !== 200 || document === undefined)
        throw (await import('./json-error.ts')).errorOf(answer, document)
      return {
        stream: false,
        service: method.parent,
        method,
        header: headersOf(answer),
        trailer: new Headers(),
        message: fromJson(method.output, document, { ignoreUnknownFields: true }),
      }
    },
    // The timeout is for silence: a stream lasts for as long as its server sends.
    stream: async (method, signal, _timeoutMs, _header, input) => {
      const { receiveStream } = await import('./json-stream.ts')
      return await receiveStream(method, {
        ...options,
        accessToken: await accessToken(),
        messages: input,
        ...(signal === undefined ? {} : { signal }),
      })
    },
  }
}

interface Call {
  readonly path: string
  readonly accessToken: string
  readonly body: string
  readonly signal: AbortSignal
}

async function send(
  { baseUrl, tls }: Pick<JsonTransportOptions, 'baseUrl' | 'tls'>,
  { path, accessToken, body, signal }: Call,
): Promise<HttpAnswer> {
  const headers = {
    authorization: `Bearer ${accessToken}`,
    'connect-protocol-version': '1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  }
  try {
    return await sendRequest(new URL(path, baseUrl), {
      method: 'POST',
      headers,
      body,
      signal,
      tls,
      maxBytes: MAX_BYTES,
    })
  } catch (error) {
    throw connectionCode(error) === undefined ? error : connectionFailure(error, baseUrl, tls)
  }
}
