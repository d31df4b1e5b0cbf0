/**
 * `grpc.reflection.v1.ServerReflection`: the schema, for tools that have no proto files. v1alpha is the same under another name.
 */
import { addAbortSignal, Readable } from 'node:stream'
import { create, type DescFile, type MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../../gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as AlphaServerReflection } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.js'
import { invalidArgument } from '../messages/errors.ts'
import type { Admit } from './public-routes.ts'
import { type Schema, withImports } from './schema.ts'

/** The most requests in one stream. Tools send one for each file. */
const MAX_REQUESTS = 1_000

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>

/** v1alpha with the messages of v1, which have the same encoding. */
export const ALPHA_REFLECTION = alphaReflection()

export interface ReflectionOptions {
  readonly schema: Schema
  /** The full names of all services. */
  readonly services: readonly string[]
  /** Limits the streams. */
  readonly admit: Admit
}

/** Answers the calls of both services. */
export function reflectionService({
  schema,
  services,
  admit,
}: ReflectionOptions): ServiceImpl<typeof ServerReflection> {
  const names = [...services].sort()

  async function* answers(
    requests: AsyncIterable<ServerReflectionRequest>,
    context: HandlerContext,
  ): AsyncGenerator<ServerReflectionResponse> {
    admit(context)
    const sent = new Set<DescFile>()
    let count = 0
    for await (const request of readable(requests, context.signal)) {
      count += 1
      if (count > MAX_REQUESTS) {
        throw new ConnectError(`a stream may have ${MAX_REQUESTS} requests: open another`, Code.ResourceExhausted)
      }
      const messageResponse = answer(request, { schema, names, sent })
      yield create(ServerReflectionResponseSchema, {
        validHost: request.host,
        originalRequest: request,
        messageResponse,
      })
    }
  }

  return { serverReflectionInfo: answers }
}

interface Known {
  readonly schema: Schema
  readonly names: readonly string[]
  /** The files that were sent in the stream. */
  readonly sent: Set<DescFile>
}

function answer({ messageRequest }: ServerReflectionRequest, { schema, names, sent }: Known): Answer {
  const files = (file: DescFile | undefined): Answer => {
    if (file === undefined) return refusal(Code.NotFound, 'there is no such file, symbol or extension')
    const missing = withImports(file).filter((each) => each === file || !sent.has(each))
    for (const each of missing) sent.add(each)
    const fileDescriptorProto = missing.map((each) => schema.encode(each))
    return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } }
  }
  switch (messageRequest.case) {
    case 'fileByFilename':
      return files(schema.file(messageRequest.value))
    case 'fileContainingSymbol':
      return files(schema.fileOf(messageRequest.value))
    case 'fileContainingExtension':
      return files(schema.fileOfExtension(messageRequest.value.containingType, messageRequest.value.extensionNumber))
    case 'allExtensionNumbersOfType': {
      const extensionNumber = schema.extensionsOf(messageRequest.value)
      if (extensionNumber === undefined) return refusal(Code.NotFound, 'there is no such message')
      return { case: 'allExtensionNumbersResponse', value: { baseTypeName: messageRequest.value, extensionNumber } }
    }
    case 'listServices':
      return { case: 'listServicesResponse', value: { service: names.map((name) => ({ name })) } }
    case undefined:
      return refusal(Code.InvalidArgument, 'the request names no known query')
  }
}

function refusal(errorCode: Code, errorMessage: string): Answer {
  return { case: 'errorResponse', value: { errorCode, errorMessage } }
}

function alphaReflection(): typeof ServerReflection {
  const { typeName, name, file, proto } = AlphaServerReflection
  const service = { ...ServerReflection, typeName, name, file, proto }
  const serverReflectionInfo = { ...ServerReflection.method.serverReflectionInfo, parent: service }
  return Object.assign(service, { method: { serverReflectionInfo }, methods: [serverReflectionInfo] })
}

/**
 * The requests until the signal is aborted: a client may keep its stream open without a limit.
 *
 * @throws {ConnectError} `invalid_argument` for a request that does not decode, which Connect reports as `internal`; the reason of
 * the signal.
 */
async function* readable<T>(requests: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  try {
    yield* addAbortSignal(signal, Readable.from(requests)) as AsyncIterable<T>
  } catch (error) {
    signal.throwIfAborted()
    const { code, rawMessage } = ConnectError.from(error)
    throw code === Code.Internal ? invalidArgument(new ConnectError(rawMessage, Code.InvalidArgument)) : error
  }
}
