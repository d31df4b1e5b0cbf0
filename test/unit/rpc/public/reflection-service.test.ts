import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, createClient, createRouterTransport } from '@connectrpc/connect'
import { describe, expect, it } from '@jest/globals'
import { file_google_rpc_error_details } from '../../../../gen/google/rpc/error_details_pb.js'
import {
  ServerReflection,
  type ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from '../../../../gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as AlphaServerReflection } from '../../../../gen/grpc/reflection/v1alpha/reflection_pb.js'
import { WebKeyService } from '../../../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { ALPHA_REFLECTION, reflectionService } from '../../../../src/rpc/public/reflection-service.ts'
import { Schema } from '../../../../src/rpc/public/schema.ts'

type Ask = MessageInitShape<typeof ServerReflectionRequestSchema>

const transport = createRouterTransport((router) => {
  const schema = new Schema([WebKeyService.file, file_google_rpc_error_details])
  const originOf = () => ({ address: '127.0.0.1', connection: {}, cutOff: () => {} })
  const reflection = reflectionService({ schema, services: ['b.B', 'a.A'], originOf })
  router.service(ServerReflection, reflection).service(ALPHA_REFLECTION, reflection)
})

async function* each(requests: readonly Ask[]) {
  yield* requests
}

async function askAll(...requests: readonly Ask[]): Promise<ServerReflectionResponse[]> {
  const responses: ServerReflectionResponse[] = []
  const { serverReflectionInfo } = createClient(ServerReflection, transport)
  for await (const response of serverReflectionInfo(each(requests))) responses.push(response)
  return responses
}

/** The names of the files in a response, or its error code. */
function filesIn({ messageResponse: { case: kind, value } }: ServerReflectionResponse): string[] | Code {
  if (kind === 'errorResponse') return value.errorCode
  if (kind !== 'fileDescriptorResponse') throw new Error(`there are no files in ${kind}`)
  return value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name)
}

const symbol = (value: string): Ask => ({ messageRequest: { case: 'fileContainingSymbol', value } })
const file = (value: string): Ask => ({ messageRequest: { case: 'fileByFilename', value } })
const extension = (containingType: string, extensionNumber: number): Ask => ({
  messageRequest: { case: 'fileContainingExtension', value: { containingType, extensionNumber } },
})
const extensions = (value: string): Ask => ({ messageRequest: { case: 'allExtensionNumbersOfType', value } })

describe('server reflection', () => {
  it('lists the services in order', async () => {
    const [response] = await askAll({ host: 'h', messageRequest: { case: 'listServices', value: '*' } })
    expect(response).toMatchObject({
      validHost: 'h',
      originalRequest: { host: 'h', messageRequest: { case: 'listServices', value: '*' } },
      messageResponse: { case: 'listServicesResponse', value: { service: [{ name: 'a.A' }, { name: 'b.B' }] } },
    })
  })

  it.each([
    ['a service', 'iam.webkey.v2beta.WebKeyService', 'iam/webkey/v2beta/web_key_service.proto'],
    ['a method', 'iam.webkey.v2beta.WebKeyService.ListWebKeys', 'iam/webkey/v2beta/web_key_service.proto'],
    ['a message', 'iam.webkey.v2beta.WebKey', 'iam/webkey/v2beta/web_key.proto'],
    ['a field', 'iam.webkey.v2beta.WebKey.key_id', 'iam/webkey/v2beta/web_key.proto'],
    ['a oneof', 'iam.webkey.v2beta.WebKeyConfig.config', 'iam/webkey/v2beta/web_key.proto'],
    ['an enum', 'iam.webkey.v2beta.State', 'iam/webkey/v2beta/web_key.proto'],
    ['a value of an enum', 'iam.webkey.v2beta.STATE_ACTIVE', 'iam/webkey/v2beta/web_key.proto'],
    ['an option', 'iam.auth.v1.required_permission', 'iam/auth/v1/permission.proto'],
    ['a validation option', 'buf.validate.field', 'buf/validate/validate.proto'],
    ['a well-known type', 'google.protobuf.Timestamp', 'google/protobuf/timestamp.proto'],
    ['a nested type', 'google.protobuf.DescriptorProto.ExtensionRange', 'google/protobuf/descriptor.proto'],
    ['the detail of errors', 'google.rpc.ErrorInfo', 'google/rpc/error_details.proto'],
  ])('finds the file of %s', async (_, name, expected) => {
    const [response] = await askAll(symbol(name))
    expect((filesIn(response!) as string[])[0]).toBe(expected)
  })

  it('sends a file with all that it imports', async () => {
    const [response] = await askAll(file('iam/webkey/v2beta/web_key_service.proto'))
    const { value } = response!.messageResponse as { value: { fileDescriptorProto: Uint8Array[] } }
    const files = value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
    const names = new Set(files.map(({ name }) => name))
    expect(names.size).toBe(files.length)
    expect(files.flatMap(({ dependency }) => dependency).filter((name) => !names.has(name))).toEqual([])
    expect([...names]).toEqual(expect.arrayContaining(['buf/validate/validate.proto', 'iam/auth/v1/permission.proto']))
  })

  it('does not send an import twice in a stream, but always what was asked for', async () => {
    const responses = await askAll(
      symbol('iam.auth.v1.required_permission'),
      symbol('iam.webkey.v2beta.WebKeyService'),
      symbol('iam.auth.v1.required_permission'),
    )
    const [first, second, third] = responses.map((response) => filesIn(response) as string[])
    expect(first).toEqual(['iam/auth/v1/permission.proto', 'google/protobuf/descriptor.proto'])
    expect(second![0]).toBe('iam/webkey/v2beta/web_key_service.proto')
    expect(second!.filter((name) => first!.includes(name))).toEqual([])
    expect(third).toEqual(['iam/auth/v1/permission.proto'])
  })

  it('finds extensions by their numbers, and the numbers', async () => {
    const [byNumber, numbers, none] = await askAll(
      extension('google.protobuf.MethodOptions', 51001),
      extensions('google.protobuf.MethodOptions'),
      extensions('iam.webkey.v2beta.WebKey'),
    )
    expect((filesIn(byNumber!) as string[])[0]).toBe('iam/auth/v1/permission.proto')
    expect(numbers!.messageResponse).toMatchObject({
      case: 'allExtensionNumbersResponse',
      value: { baseTypeName: 'google.protobuf.MethodOptions', extensionNumber: [51001] },
    })
    expect(none!.messageResponse).toMatchObject({ case: 'allExtensionNumbersResponse', value: { extensionNumber: [] } })
  })

  it('says of each request that it cannot answer why, and goes on', async () => {
    const responses = await askAll(
      file('nothing.proto'),
      symbol('no.Thing'),
      symbol('__proto__'),
      extension('google.protobuf.MethodOptions', 1),
      extension('no.Thing', 1),
      {},
      symbol('iam.auth.v1.required_permission'),
    )
    expect(responses.slice(0, -1).map(filesIn)).toEqual([
      Code.NotFound,
      Code.NotFound,
      Code.NotFound,
      Code.NotFound,
      Code.NotFound,
      Code.InvalidArgument,
    ])
    expect(filesIn(responses.at(-1)!)).toContain('iam/auth/v1/permission.proto')
    const [noMessage] = await askAll(extensions('no.Thing'))
    expect(filesIn(noMessage!)).toBe(Code.NotFound)
  })

  it('answers a thousand requests in a stream and no more', async () => {
    const thousand = Array.from({ length: 1000 }, () => symbol('iam.auth.v1.required_permission'))
    expect(await askAll(...thousand)).toHaveLength(1000)
    await expect(askAll(...thousand, symbol('a.A'))).rejects.toMatchObject({ code: Code.ResourceExhausted })
  })

  it('answers the same under its old name', async () => {
    const client = createClient(AlphaServerReflection, transport)
    const request = {
      messageRequest: {
        case: 'fileContainingExtension',
        value: { containingType: 'google.protobuf.MethodOptions', extensionNumber: 51001 },
      },
    } as const
    const asked = async function* () {
      yield request
    }
    const [expected] = await askAll(request)
    for await (const { messageResponse, originalRequest } of client.serverReflectionInfo(asked())) {
      expect(originalRequest?.messageRequest).toMatchObject(request.messageRequest)
      const value = expected!.messageResponse.value as { fileDescriptorProto: Uint8Array[] }
      expect(messageResponse).toMatchObject({ value: { fileDescriptorProto: value.fileDescriptorProto } })
    }
    expect.assertions(2)
  })
})
