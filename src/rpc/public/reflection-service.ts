/** `grpc.reflection.v1.ServerReflection`: the schema, for tools that have no proto files. v1alpha is the same under another name. */
import {
  createRegistry,
  type DescExtension,
  type DescFile,
  type MessageInitShape,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponseSchema,
} from '../../../gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as AlphaServerReflection } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.js'
import { invalidArgument } from '../messages/errors.ts'
import type { Admit } from './public-routes.ts'

/** The most requests in one stream. Tools send one for each file. */
const MAX_REQUESTS = 1_000

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>

/** v1alpha with the messages of v1, which have the same encoding. */
export const ALPHA_REFLECTION = alphaReflection()

export function reflectionService(
  schema: Schema,
  services: readonly string[],
  admit: Admit,
): ServiceImpl<typeof ServerReflection> {
  const names = [...services].sort()
  return {
    async *serverReflectionInfo(requests, context) {
      admit(context)
      const sent = new Set<DescFile>()
      let count = 0
      for await (const request of readable(requests, context.signal)) {
        count += 1
        if (count > MAX_REQUESTS)
          throw new ConnectError(`a stream may have ${MAX_REQUESTS} requests: open another`, Code.ResourceExhausted)
        const messageResponse = answer(request, { schema, names, sent })
        yield { validHost: request.host, originalRequest: request, messageResponse }
      }
    },
  }
}

interface Known {
  readonly schema: Schema
  readonly names: readonly string[]
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
      const extensionNumber = schema.extensionNumbersOf(messageRequest.value)
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
  const iterator = requests[Symbol.asyncIterator]()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  // The signal may be aborted when nothing waits for it any more.
  aborted.catch(() => {})
  try {
    for (;;) {
      signal.throwIfAborted()
      // A generator that waits for a request cannot be ended from outside.
      const next = await Promise.race([iterator.next(), aborted])
      if (next.done === true) return
      yield next.value
    }
  } catch (error) {
    signal.throwIfAborted()
    const { code, rawMessage } = ConnectError.from(error)
    throw code === Code.Internal ? invalidArgument(new ConnectError(rawMessage, Code.InvalidArgument)) : error
  }
}

/** The proto files of services, and all that they import. */
export class Schema {
  readonly #files: ReadonlyMap<string, DescFile>
  readonly #types: Registry
  readonly #encoded = new Map<DescFile, Uint8Array>()

  constructor(files: readonly DescFile[]) {
    const all = new Set(files.flatMap(withImports))
    this.#files = new Map([...all].map((file) => [file.proto.name, file]))
    this.#types = createRegistry(...all)
  }

  /** By its name, for example `iam/webkey/v2beta/web_key.proto`. */
  file(name: string): DescFile | undefined {
    return this.#files.get(name)
  }

  /** @param symbol A type, or what is in one: a field or a method. */
  fileOf(symbol: string): DescFile | undefined {
    const scope = symbol.slice(0, Math.max(0, symbol.lastIndexOf('.')))
    return (this.#types.get(symbol) ?? this.#types.get(scope))?.file
  }

  fileOfExtension(message: string, number: number): DescFile | undefined {
    return this.#extensionsOf(message).find((extension) => extension.number === number)?.file
  }

  /** The numbers of all extensions of a message, ascending. Undefined if there is no such message. */
  extensionNumbersOf(message: string): number[] | undefined {
    if (this.#types.getMessage(message) === undefined) return undefined
    const numbers = this.#extensionsOf(message).map(({ number }) => number)
    return numbers.sort((a, b) => a - b)
  }

  encode(file: DescFile): Uint8Array {
    const bytes = this.#encoded.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto)
    this.#encoded.set(file, bytes)
    return bytes
  }

  #extensionsOf(message: string): DescExtension[] {
    const extensions = [...this.#types].filter((type) => type.kind === 'extension')
    return extensions.filter(({ extendee }) => extendee.typeName === message)
  }
}

/** A file and what it imports, directly or not, each once, itself first. */
function withImports(file: DescFile): readonly DescFile[] {
  const found = new Set([file])
  // Iterating a set includes the entries that are added meanwhile.
  for (const { dependencies } of found) for (const dependency of dependencies) found.add(dependency)
  return [...found]
}
