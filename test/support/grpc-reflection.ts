/**
 * A stream of gRPC server reflection with @grpc/grpc-js, which shares no code with the server.
 */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { credentials, Client as GrpcJsClient, Metadata, type StatusObject } from '@grpc/grpc-js'
import {
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../gen/grpc/reflection/v1/reflection_pb.js'

/** A stream that is open in both directions. */
export interface ReflectionStream {
  /** Asks for the file that has a symbol. */
  ask(symbol: string): void
  /** Asks for the names of all services. */
  askForServices(): void
  send(bytes: Uint8Array): void
  end(): void
  cancel(): void
  /** What has been answered so far. */
  readonly responses: readonly ServerReflectionResponse[]
  /** How the stream ended. */
  readonly ended: Promise<StatusObject>
}

/** Opens a stream, and asks for nothing yet. */
export function openReflection(url: string): ReflectionStream {
  const client = new GrpcJsClient(new URL(url).host, credentials.createInsecure())
  const stream = client.makeBidiStreamRequest(
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    (bytes: Uint8Array) => Buffer.from(bytes),
    (bytes: Buffer) => fromBinary(ServerReflectionResponseSchema, bytes),
    new Metadata(),
  )
  const responses: ServerReflectionResponse[] = []
  stream.on('data', (response: ServerReflectionResponse) => void responses.push(response))
  stream.on('error', () => {})
  const ended = new Promise<StatusObject>((resolve) => stream.once('status', resolve))
  void ended.then(() => client.close())
  const ask = (wanted: 'fileContainingSymbol' | 'listServices', value: string) => {
    const request = create(ServerReflectionRequestSchema, { messageRequest: { case: wanted, value } })
    stream.write(toBinary(ServerReflectionRequestSchema, request))
  }
  return {
    ask: (symbol) => ask('fileContainingSymbol', symbol),
    askForServices: () => ask('listServices', ''),
    send: (bytes) => void stream.write(bytes),
    end: () => stream.end(),
    cancel: () => stream.cancel(),
    responses,
    ended,
  }
}
