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
