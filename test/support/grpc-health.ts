/**
 * What a gRPC client hears about the health of a server, with @grpc/grpc-js, which shares no code with the server.
 */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { credentials, Client as GrpcJsClient, Metadata, type StatusObject } from '@grpc/grpc-js'
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from '../../gen/grpc/health/v1/health_pb.js'
import { callWithGrpcJs } from './grpc-js.ts'

/** A stream of `Watch`. */
export interface HealthWatch {
  /** The statuses so far, by name. */
  readonly statuses: readonly string[]
  /** How the stream ended. */
  readonly ended: Promise<StatusObject>
  cancel(): void
}

/** The status now, by name. Rejects with the error of the client. */
export async function checkHealth(url: string, service = ''): Promise<string | undefined> {
  const { status } = await callWithGrpcJs(url, null, Health.method.check, { service })
  return Status[status]
}

/** Begins to watch. @param options Of the channel. */
export function watchHealth(url: string, service = '', options: Record<string, number> = {}): HealthWatch {
  const client = new GrpcJsClient(new URL(url).host, credentials.createInsecure(), options)
  const stream = client.makeServerStreamRequest(
    '/grpc.health.v1.Health/Watch',
    (bytes: Uint8Array) => Buffer.from(bytes),
    (bytes: Buffer) => fromBinary(HealthCheckResponseSchema, bytes),
    toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })),
    new Metadata(),
  )
  const statuses: string[] = []
  stream.on('data', ({ status }: { status: Status }) => void statuses.push(Status[status]))
  stream.on('error', () => {})
  const ended = new Promise<StatusObject>((resolve) => stream.once('status', resolve))
  void ended.then(() => client.close())
  return { statuses, ended, cancel: () => stream.cancel() }
}
