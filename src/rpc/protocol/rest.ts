/**
 * HTTP/JSON transcoding (AIP-127): unary methods at REST paths, in the JSON of a gRPC gateway. Converts a request to a call by POST, so
 * that one code path checks, decodes and refuses the message, and an error to `google.rpc.Status`.
 */
import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  createAsyncIterable,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol'
import { codeFromString } from '@connectrpc/connect/protocol-connect'
import { invalidArgument } from '../messages/errors.ts'
import { codeOf } from './http-refusals.ts'

/** A method at a REST path. */
export interface RestBinding {
  readonly httpMethod: 'GET' | 'POST' | 'DELETE'
  /** A path in which one segment may be `{id}`, the field `id` of the request. */
  readonly path: string
  readonly method: DescMethod & { readonly parent: DescService }
  /** Whether the body of the request is the message. Otherwise it is ignored. */
  readonly hasBody: boolean
}

/** The request as a call by POST in JSON. */
export function toCall(request: UniversalServerRequest, { path, hasBody }: RestBinding): UniversalServerRequest {
  const header = new Headers(request.header)
  header.set('content-type', 'application/json')
  if (hasBody) return { ...request, method: 'POST', header }
  // They are about the body that is ignored.
  for (const name of ['content-encoding', 'content-length']) header.delete(name)
  return { ...request, method: 'POST', header, body: messageOf(new URL(request.url).pathname, path) }
}

async function* messageOf(path: string, template: string): AsyncIterable<Uint8Array> {
  const place = template.split('/').indexOf('{id}')
  const id = place < 0 ? undefined : decoded(path.split('/')[place] ?? '')
  yield Buffer.from(JSON.stringify({ id }))
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalidArgument(new ConnectError('the path is not percent-encoded UTF-8', Code.InvalidArgument))
  }
}

/** An error in the JSON of Connect. */
interface ConnectBody {
  readonly code: string
  readonly message?: string
  readonly details?: readonly { readonly type: string; readonly debug?: object }[]
}

/** The same response; an error has the body of a `google.rpc.Status`. */
export async function toRestResponse(response: UniversalServerResponse): Promise<UniversalServerResponse> {
  if (response.status < 400 || response.body === undefined) return response
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  const { code, message = '', details = [] }: ConnectBody = JSON.parse(Buffer.concat(chunks).toString())
  const body = Buffer.from(
    JSON.stringify({
      code: codeFromString(code) ?? Code.Unknown,
      message,
      details: details.map(({ type, debug }) => ({ '@type': `type.googleapis.com/${type}`, ...debug })),
    }),
  )
  const header = new Headers(response.header)
  header.set('content-length', String(body.byteLength))
  return { ...response, header, body: createAsyncIterable([body]) }
}

/** The body of a refusal at a REST path. @param status The HTTP status. */
export function restRefusal(status: number, message: string): object {
  return { code: codeOf(status), message, details: [] }
}
