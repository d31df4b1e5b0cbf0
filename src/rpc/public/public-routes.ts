/**
 * The RPC services that need no token: health and reflection. They reveal nothing confidential and change nothing.
 *
 * `routes.ts` serves all other services behind its gate. The public services work as soon as the port is open.
 */
import { type ContextValues, createConnectRouter } from '@connectrpc/connect'
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.js'
import { Health } from '../../../gen/grpc/health/v1/health_pb.js'
import { ServerReflection } from '../../../gen/grpc/reflection/v1/reflection_pb.js'
import { ConsoleService } from '../../../gen/iam/console/v2/console_service_pb.js'
import type { Log, RequestContext } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { translateErrors, unavailable } from '../messages/errors.ts'
import { CallContexts } from '../protocol/call-context.ts'
import { successorOf } from '../protocol/deprecation.ts'
import { connectOptions, routesOf } from '../protocol/handler-routes.ts'
import type { RpcRoutes } from '../rpc-route.ts'
import { SERVICES, ZITADEL_SERVICES } from '../services.ts'
import { healthService, type Serving } from './health-service.ts'
import { ALPHA_REFLECTION, reflectionService } from './reflection-service.ts'
import { Schema } from './schema.ts'

const PUBLIC_SERVICES = [Health, ServerReflection, ALPHA_REFLECTION]

/**
 * The longest message, as it is sent and decompressed, in bytes. Names are short, and responses repeat them: a compressed request of an
 * unauthenticated client must not be amplified.
 */
const MAX_MESSAGE_BYTES = 4 * 1024

export interface PublicRpcOptions {
  readonly serving: () => Serving
  /** Whether deprecated services are served. Otherwise health and reflection do not list them. */
  readonly servesDeprecated: boolean
  /** Whether clients of ZITADEL are served. Otherwise health and reflection do not list their services. */
  readonly servesZitadel: boolean
  /** Whether there is a console. Otherwise health and reflection do not list its service. */
  readonly servesConsole: boolean
  readonly clock: Clock
  readonly requestContext: RequestContext
  readonly log: Log
}

export interface PublicRpc {
  readonly routes: RpcRoutes
  /** Ends all open streams with `unavailable`. Other calls are still answered. */
  endStreams(): void
}

/** Makes the handlers of the public RPC services by path. */
export function createPublicRpc({ serving, clock, log, ...options }: PublicRpcOptions): PublicRpc {
  const callContexts = new CallContexts(options.requestContext)
  const administration = [
    ...SERVICES.filter((service) => options.servesDeprecated || successorOf(service) === undefined).filter(
      (service) => options.servesConsole || service !== ConsoleService,
    ),
    ...(options.servesZitadel ? ZITADEL_SERVICES : []),
  ]
  const all = [...administration, ...PUBLIC_SERVICES]
  // Errors carry details that nothing else refers to.
  const schema = new Schema([...all.map(({ file }) => file), file_google_rpc_error_details])
  const originOf = (values: ContextValues) => callContexts.originOf(values)
  const reflection = reflectionService({ schema, services: all.map(({ typeName }) => typeName), originOf })
  const stopping = new AbortController()
  const router = createConnectRouter({
    ...connectOptions(MAX_MESSAGE_BYTES),
    // No call needs a token, so no refusal says where to get one.
    interceptors: [translateErrors({ log, baseUrl: '' }, callContexts)],
    shutdownSignal: stopping.signal,
  })
    .service(Health, healthService({ serving, administration, clock, originOf }))
    .service(ServerReflection, reflection)
    .service(ALPHA_REFLECTION, reflection)

  return {
    routes: routesOf(router, { callContexts, maxMessageBytes: () => MAX_MESSAGE_BYTES }),
    endStreams: () => stopping.abort(unavailable('the server is stopping')),
  }
}
