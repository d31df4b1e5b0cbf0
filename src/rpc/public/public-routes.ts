/**
 * The RPC services that need no token: health and reflection. They reveal nothing confidential and change nothing.
 *
 * `routes.ts` serves all other services behind its gate. The public services work as soon as the port is open.
 */
import { Code, ConnectError, createConnectRouter, type HandlerContext } from '@connectrpc/connect'
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.js'
import { Health } from '../../../gen/grpc/health/v1/health_pb.js'
import { ServerReflection } from '../../../gen/grpc/reflection/v1/reflection_pb.js'
import { ConsoleService } from '../../../gen/iam/console/v2/console_service_pb.js'
import { networkOf } from '../../app/access/rate-limits.ts'
import type { Log, RequestContext } from '../../domain/ports/runtime.ts'
import type { Routes } from '../../http/requests/router.ts'
import { unavailable } from '../messages/errors.ts'
import { requestOf, translateErrors } from '../protocol/call-context.ts'
import { successorOf } from '../protocol/deprecation.ts'
import { connectOptions, routesOf } from '../protocol/handler-routes.ts'
import { StreamLimiter } from '../protocol/stream-limiter.ts'
import { SERVICES, ZITADEL_SERVICES } from '../routes.ts'
import { healthService, type Serving } from './health-service.ts'
import { ALPHA_REFLECTION, reflectionService, Schema } from './reflection-service.ts'

const PUBLIC_SERVICES = [Health, ServerReflection, ALPHA_REFLECTION]

/**
 * The longest message, as it is sent and decompressed, in bytes. Names are short, and responses repeat them: a compressed request of an
 * unauthenticated client must not be amplified.
 */
const MAX_MESSAGE_BYTES = 4 * 1024

/** The most streams at the same time. A network of IPv6 counts as one address. */
const MAX_WATCHES = { total: 1_000, perHolder: 200 }
const MAX_REFLECTIONS = { total: 100, perHolder: 20 }

/** Counts a stream until it ends. @throws {ConnectError} `resource_exhausted` if there are too many. */
export type Admit = (context: Pick<HandlerContext, 'signal' | 'values'>) => void

export interface PublicRpcOptions {
  readonly serving: () => Serving
  /** Whether deprecated services are served. Otherwise health and reflection do not list them. */
  readonly servesDeprecated: boolean
  /** Whether clients of ZITADEL are served. Otherwise health and reflection do not list their services. */
  readonly servesZitadel: boolean
  /** Whether there is a console. Otherwise health and reflection do not list its service. */
  readonly servesConsole: boolean
  readonly requestContext: RequestContext
  readonly log: Log
}

export interface PublicRpc {
  readonly routes: Routes
  /** Ends all open streams with `unavailable`. Other calls are still answered. */
  endStreams(): void
}

export function createPublicRpc({ serving, log, requestContext, ...options }: PublicRpcOptions): PublicRpc {
  const administration = [
    ...SERVICES.filter((service) => options.servesDeprecated || successorOf(service) === undefined).filter(
      (service) => options.servesConsole || service !== ConsoleService,
    ),
    ...(options.servesZitadel ? ZITADEL_SERVICES : []),
  ]
  const all = [...administration, ...PUBLIC_SERVICES]
  // Errors carry details that nothing else refers to.
  const schema = new Schema([...all.map(({ file }) => file), file_google_rpc_error_details])
  const admitTo = (limits: typeof MAX_WATCHES): Admit => {
    const streams = new StreamLimiter(limits, (message) => new ConnectError(message, Code.ResourceExhausted))
    return ({ signal, values }) => streams.admit(networkOf(requestContext.addressOf(requestOf(values))), signal)
  }
  const services = all.map(({ typeName }) => typeName)
  const reflection = reflectionService(schema, services, admitTo(MAX_REFLECTIONS))
  const stopping = new AbortController()
  const router = createConnectRouter({
    ...connectOptions(MAX_MESSAGE_BYTES),
    // No call needs a token, so no refusal says where to get one.
    interceptors: [translateErrors({ log, baseUrl: '', requestContext })],
    shutdownSignal: stopping.signal,
  })
    .service(Health, healthService(serving, administration, admitTo(MAX_WATCHES)))
    .service(ServerReflection, reflection)
    .service(ALPHA_REFLECTION, reflection)

  return {
    routes: routesOf(router, { requestContext, maxMessageBytes: () => MAX_MESSAGE_BYTES }),
    endStreams: () => stopping.abort(unavailable('the server is stopping')),
  }
}
