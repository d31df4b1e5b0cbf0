/**
 * Answers requests with the handlers of a router: gRPC, gRPC-Web and Connect on the path of a method, and REST on another one.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { DescService } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import type { ConnectRouter, ContextValues } from '@connectrpc/connect'
import type { UniversalHandler, UniversalServerRequest } from '@connectrpc/connect/protocol'
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node'
import type { Answer, RpcRoutes } from '../rpc-route.ts'
import type { CallContexts } from './call-context.ts'
import { deprecationHeaders } from './deprecation.ts'
import { asPost } from './get-request.ts'
import { withReadableMessage } from './grpc-message.ts'
import { acceptedCompression, GZIP } from './gzip.ts'
import { withRefusalBody } from './http-refusals.ts'
import { adjustHeaders } from './request-headers.ts'
import { type RestBinding, toCall, toRestResponse } from './rest.ts'
import { strictlyDecoded } from './strict-decoding.ts'

/** The longest message that is read, as it is sent and decompressed, in bytes. */
export const MAX_MESSAGE_BYTES = 64 * 1024

/** The options of Connect for every service. @param maxMessageBytes The longest message, as it is sent and decompressed. */
export function connectOptions(maxMessageBytes: number) {
  return {
    // A misspelt field or enum name must not make another key than asked.
    jsonOptions: { ignoreUnknownFields: false },
    acceptCompression: [GZIP],
    readMaxBytes: maxMessageBytes,
  }
}

interface RoutesOptions {
  readonly callContexts: CallContexts
  /** The longest message of a service, as it is sent and decompressed, in bytes. */
  readonly maxMessageBytes: (service: DescService) => number
}

export function routesOf(router: ConnectRouter, options: RoutesOptions): RpcRoutes {
  return new Map(
    router.handlers.map((handler) => {
      const answer = createAnswer(handler, options)
      const answers = isReadOnly(handler) ? { GET: answer, POST: answer } : { POST: answer }
      const headers = deprecationHeaders(handler.requestPath)
      const maxBodyBytes = options.maxMessageBytes(handler.service)
      return [handler.requestPath, { answers, headers, anyOrigin: true, maxBodyBytes }]
    }),
  )
}

/** The handlers of a router by REST path. */
export function restRoutesOf(
  router: ConnectRouter,
  bindings: readonly RestBinding[],
  options: RoutesOptions,
): RpcRoutes {
  const handlers = new Map(router.handlers.map((handler) => [handler.method, handler]))
  const answerOf = (binding: RestBinding): Answer => {
    const handler = handlers.get(binding.method)
    if (handler === undefined) throw new Error(`${binding.path} is the path of a method that is not served`)
    return createAnswer(handler, options, binding)
  }
  return new Map(
    [...Map.groupBy(bindings, ({ path }) => path)].map(([path, bound]) => {
      const answers = Object.fromEntries(bound.map((binding) => [binding.httpMethod, answerOf(binding)]))
      return [path, { answers, headers: {}, anyOrigin: false }]
    }),
  )
}

/** @param binding The REST path of the request, if it has one. */
function createAnswer(handler: UniversalHandler, options: RoutesOptions, binding?: RestBinding): Answer {
  return async (req, res, { cutOff }) => {
    res.setHeader('cache-control', 'no-store')
    res.setHeader(...acceptedCompression(req.headers['content-type']))
    const values = options.callContexts.valuesFor(req, cutOff)
    try {
      const response = await answer(handler, req, { ...options, binding, res, values })
      // Over HTTP/2 the response to HEAD ends with its headers, and writing a body would fail.
      if (req.method === 'HEAD') delete response.body
      await universalResponseToNodeResponse(response, res)
    } catch (error) {
      // Clients may disconnect at any time, so that is not logged. What has no code is a defect.
      if (!isDisconnected(res) || !(error instanceof Error && 'code' in error)) throw error
    }
  }
}

interface Call extends RoutesOptions {
  readonly binding: RestBinding | undefined
  readonly res: ServerResponse
  readonly values: ContextValues
}

async function answer(handler: UniversalHandler, req: IncomingMessage, call: Call) {
  const { binding, res, values, callContexts } = call
  const { method } = handler
  const maxBytes = call.maxMessageBytes(handler.service)
  const received = universalRequestFromNodeRequest(req, res, undefined, values)
  const request = binding === undefined ? asPost(received, isReadOnly(handler)) : toCall(received, binding)
  const { header } = request
  const respond = async (request: UniversalServerRequest) => {
    const response = withReadableMessage(await handler(request))
    const refusal = { httpMethod: request.method, contentType: header.get('content-type'), method }
    const complete = withRefusalBody(response, refusal)
    return binding === undefined ? complete : toRestResponse(complete)
  }
  adjustHeaders(header, method)
  // The body of a bidirectional stream is read while the response is sent, so it cannot be decoded before.
  if (!isIterable(request.body) || method.methodKind === 'bidi_streaming') return respond(request)
  const body = strictlyDecoded(request.body, {
    type: method.input,
    header,
    maxBytes,
    onRefused: (error) => callContexts.refused(values, error),
  })
  return respond({ ...request, body })
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
