/** Answers requests with the handlers of a router: gRPC, gRPC-Web and Connect on the path of a method, and REST on another one. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { DescService } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import type { ConnectError, ConnectRouter } from '@connectrpc/connect'
import type { UniversalHandler, UniversalServerRequest } from '@connectrpc/connect/protocol'
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from '@connectrpc/connect-node'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import { RPC } from '../../http/requests/cors.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import type { Routes } from '../../http/requests/router.ts'
import { contextValuesOf, recordRefusal } from './call-context.ts'
import { deprecationHeaders } from './deprecation.ts'
import { withReadableMessage, withRefusalBody } from './http-refusals.ts'
import { adjustHeaders } from './request-headers.ts'
import { asPost, type RestBinding, toCall, toRestResponse } from './rest.ts'
import { strictlyDecoded } from './strict-decoding.ts'

/** The longest message that is read, as it is sent and decompressed, in bytes. */
export const MAX_MESSAGE_BYTES = 64 * 1024

/** The options of Connect for every service. @param maxMessageBytes The longest message, as it is sent and decompressed. */
export function connectOptions(maxMessageBytes: number) {
  return {
    // A misspelt field or enum name must not make another key than asked.
    jsonOptions: { ignoreUnknownFields: false },
    // What a newer client sends besides is kept nowhere.
    binaryOptions: { readUnknownFields: false },
    acceptCompression: [compressionGzip],
    readMaxBytes: maxMessageBytes,
  }
}

interface RoutesOptions {
  readonly requestContext: RequestContext
  /** The longest message of a service, as it is sent and decompressed, in bytes. */
  readonly maxMessageBytes: (service: DescService) => number
}

export function routesOf(router: ConnectRouter, options: RoutesOptions): Routes {
  return new Map(
    router.handlers.map((handler) => {
      const answer = createAnswer(handler, options)
      const methods = isReadOnly(handler) ? { GET: answer, POST: answer } : { POST: answer }
      const headers = deprecationHeaders(handler.service, handler.method.name)
      const maxBodyBytes = options.maxMessageBytes(handler.service)
      return [handler.requestPath, { methods, headers, cors: RPC, maxBodyBytes }]
    }),
  )
}

export function restRoutesOf(router: ConnectRouter, bindings: readonly RestBinding[], options: RoutesOptions): Routes {
  const handlers = new Map(router.handlers.map((handler) => [handler.method, handler]))
  const answerOf = (binding: RestBinding): Handler => {
    const handler = handlers.get(binding.method)
    if (handler === undefined) throw new Error(`${binding.path} is the path of a method that is not served`)
    return createAnswer(handler, options, binding)
  }
  return new Map(
    [...Map.groupBy(bindings, ({ path }) => path)].map(([path, bound]) => {
      const methods = Object.fromEntries(bound.map((binding) => [binding.httpMethod, answerOf(binding)]))
      return [path, { methods, cors: null }]
    }),
  )
}

function createAnswer(handler: UniversalHandler, options: RoutesOptions, binding?: RestBinding): Handler {
  return async (req, res) => {
    setAuthority(req)
    res.setHeader('cache-control', 'no-store')
    // Which compression requests may have (RFC 9110 §12.5.3; gRPC, "Compression").
    const isGrpc = req.headers['content-type']?.startsWith('application/grpc') === true
    res.setHeader(isGrpc ? 'grpc-accept-encoding' : 'accept-encoding', compressionGzip.name)
    try {
      const response = await answer(handler, { req, res, binding }, options)
      // Over HTTP/2 the response to HEAD ends with its headers, and writing a body would fail.
      if (req.method === 'HEAD') delete response.body
      await universalResponseToNodeResponse(response, res)
    } catch (error) {
      // Clients may disconnect at any time, so that is not logged. What has no code is a defect.
      if (!isDisconnected(res) || !(error instanceof Error && 'code' in error)) throw error
    }
  }
}

/** Connect builds a URL of the `Host` header, and fails on an invalid one. Nothing else needs that header. */
function setAuthority({ headers }: IncomingMessage): void {
  headers.host = 'localhost'
  if (headers[':authority'] !== undefined) headers[':authority'] = 'localhost'
}

interface Call {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly binding: RestBinding | undefined
}

async function answer(
  handler: UniversalHandler,
  { req, res, binding }: Call,
  { requestContext, maxMessageBytes }: RoutesOptions,
) {
  const { method, service } = handler
  const values = contextValuesOf(req)
  const received = universalRequestFromNodeRequest(req, res, undefined, values)
  const request = binding === undefined ? asPost(received) : toCall(received, binding)
  const { header, body } = request
  adjustHeaders(header)
  const checked = {
    type: method.input,
    header,
    maxBytes: maxMessageBytes(service),
    onRefused: (error: ConnectError) => recordRefusal(requestContext, values, error),
  }
  // The body of a bidirectional stream is read while the response is sent, so it cannot be decoded before.
  const isChecked = isIterable(body) && method.methodKind !== 'bidi_streaming'
  const response = await handler(isChecked ? { ...request, body: strictlyDecoded(body, checked) } : request)
  const complete = withRefusalBody(withReadableMessage(response), { httpMethod: request.method, method })
  return binding === undefined ? complete : toRestResponse(complete)
}

/** Whether the client has disconnected or the response was cut off. */
function isDisconnected(res: ServerResponse | Http2ServerResponse): boolean {
  return 'stream' in res ? res.stream.closed || res.stream.destroyed : res.destroyed || res.socket?.destroyed === true
}

function isReadOnly({ method }: UniversalHandler): boolean {
  return method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS
}

function isIterable(body: UniversalServerRequest['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}
