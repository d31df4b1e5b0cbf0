/**
 * Calls of the API in the JSON form of the Connect protocol, for unary methods: all that commands call. The transport of
 * `@connectrpc/connect-node`, which also speaks gRPC over HTTP/2, takes a fifth of the time of a command to load.
 */
import { create, fromJson, type JsonValue, toJsonString } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { codeOf, type HttpAnswer, parseJson, sendRequest } from './http-request.ts'

/** What calls need. */
export interface JsonTransportOptions {
  readonly baseUrl: string
  readonly accessToken: string
  /** Of a call, in milliseconds. */
  readonly timeoutMs: number
}

/** As the protocol writes them: `failed_precondition`. */
const CODES = new Map(
  Object.entries(Code).flatMap(([name, code]) =>
    typeof code === 'number' ? [[name.replaceAll(/(?<!^)[A-Z]/g, '_$&').toLowerCase(), code] as const] : [],
  ),
)

/** What a status means when its body is no error of the API, as the protocol says. */
const CODES_OF_STATUS: Readonly<Record<number, Code>> = {
  400: Code.Internal,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.Unimplemented,
  429: Code.Unavailable,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.Unavailable,
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
      if (answer.status !== 200 || document === undefined) throw errorOf(answer, document)
      return {
        stream: false,
        service: method.parent,
        method,
        header: headersOf(answer),
        trailer: new Headers(),
        message: fromJson(method.output, document, { ignoreUnknownFields: true }),
      }
    },
    stream: () => Promise.reject(new ConnectError('no command calls a streaming method', Code.Unimplemented)),
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
    const code = signal.aborted ? Code.DeadlineExceeded : Code.Unavailable
    throw new ConnectError(`no answer from ${url.origin}${codeOf(cause)}`, code, undefined, undefined, cause)
  }
}

function errorOf(answer: HttpAnswer, document: JsonValue | undefined): ConnectError {
  const { code, message, details } = (document ?? {}) as {
    readonly code?: unknown
    readonly message?: unknown
    readonly details?: unknown
  }
  const known = CODES.get(String(code))
  if (known === undefined) {
    return new ConnectError(`HTTP ${answer.status}`, CODES_OF_STATUS[answer.status] ?? Code.Unknown, headersOf(answer))
  }
  const error = new ConnectError(typeof message === 'string' ? message : '', known, headersOf(answer))
  for (const detail of Array.isArray(details) ? details : []) {
    const { type, value } = (detail ?? {}) as { readonly type?: unknown; readonly value?: unknown }
    if (typeof type === 'string' && typeof value === 'string') error.details.push({ type, value: base64Decode(value) })
  }
  return error
}

function headersOf({ headers }: HttpAnswer): Headers {
  return new Headers(Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one])))
}
