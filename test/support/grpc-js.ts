import {
  create,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { credentials, Client as GrpcJsClient, Metadata, type ServiceError } from '@grpc/grpc-js'

/** A call with @grpc/grpc-js, which shares no code with the server. */
export async function callWithGrpcJs<Method extends DescMethodUnary>(
  url: string,
  token: string | null,
  method: Method,
  request: MessageInitShape<Method['input']>,
): Promise<MessageShape<Method['output']>> {
  const client = new GrpcJsClient(new URL(url).host, credentials.createInsecure())
  const metadata = new Metadata()
  if (token !== null) metadata.set('authorization', `Bearer ${token}`)
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<Method['input']>) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes) as MessageShape<Method['output']>,
        create(method.input, request) as MessageShape<Method['input']>,
        metadata,
        (error: ServiceError | null, response) => {
          if (response === undefined) reject(error)
          else resolve(response)
        },
      )
    })
  } finally {
    client.close()
  }
}
