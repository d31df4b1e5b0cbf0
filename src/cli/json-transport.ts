/**
 * Calls of the API in the JSON form of the Connect protocol, for unary methods: all that commands call. The transport of
 * `@connectrpc/connect-node`, which also speaks gRPC over HTTP/2, takes a fifth of the time of a command to load.
 */
import { create, fromJson, type JsonValue, toJsonString } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { type HttpAnswer, headersOf, parseJson, sendRequest } from './http-request.ts'

/** What calls need. */
export interface JsonTransportOptions {
  readonly baseUrl: string
  readonly accessToken: string
  /** Of a call, in milliseconds. */
  readonly timeoutMs: number
}

/** A transport for a client of any service. */
export function createJsonTransport({ baseUrl, accessToken, timeoutMs }: JsonTransportOptions): Transport {
  return {
    async unary(method, signal, _timeoutMs, _header, input) {
      const answer = await send(new URL(`/${method.parent.typeName}/${method.name}`, baseUrl), {
        accessToken,
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
    stream: () => Promise.reject(new Error('no command calls a streaming method')),
  }
}

interface Call {
  readonly accessToken: string
  readonly body: string
  readonly signal: AbortSignal
}

async function send(url: URL, { accessToken, body, signal }: Call): Promise<HttpAnswer> {
  const headers = {
    authorization: `Bearer ${accessToken}`,
    'connect-protocol-version': '1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  }
  try {
    return await sendRequest(url, { method: 'POST', headers, body, signal })
  } catch (cause) {
    throw (await import('./json-error.ts')).noAnswer(url, signal.aborted, cause)
  }
}
