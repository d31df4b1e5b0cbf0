/**
 * The RPC services as one request handler, behind their gates: one for tokens, and one for the sessions of the console.
 *
 * Services that need no token are in `public-routes.ts`.
 */
import { type ConnectRouter, type ConnectRouterOptions, createConnectRouter } from '@connectrpc/connect'
import { createValidateInterceptor } from '@connectrpc/validate'
import type { Access } from '../app/access/access.ts'
import { SIGN_IN_PATH } from '../domain/console/sign-ins.ts'
import type { Log, RequestContext } from '../domain/ports/runtime.ts'
import { authorize, byToken, type GateOptions, permissionOf, reauthorize } from './authorization/authorize.ts'
import { auditRefusals } from './authorization/refusal-audit.ts'
import { bySession, consoleRoutes } from './console/console-routes.ts'
import { openIdEndpoint } from './console/openid-endpoint.ts'
import { sessionEndpoint } from './console/session-endpoint.ts'
import { ZITADEL_REST } from './keys/zitadel-web-key-service.ts'
import { normalizeTexts } from './messages/interceptors.ts'
import { translateErrors } from './protocol/call-context.ts'
import { connectOptions, MAX_MESSAGE_BYTES, restRoutesOf, routesOf } from './protocol/handler-routes.ts'
import type { RpcRoutes } from './protocol/rpc-route.ts'
import {
  addServices,
  addZitadelServices,
  maxBytesOf,
  SERVICES,
  type ServiceParts,
  ZITADEL_SERVICES,
} from './services.ts'

export interface RpcOptions extends ServiceParts {
  readonly access: Access
  /** Throws {DomainError} `primary_region` if the database is a standby. */
  readonly assertPrimary: () => void
  readonly servesDeprecated: boolean
  readonly servesZitadel: boolean
  readonly requestContext: RequestContext
  readonly log: Log
}

/** Makes the handlers of all RPC services behind the gate by path. @throws {Error} if a method names no permission. */
export function createRpcRoutes(options: RpcOptions): RpcRoutes {
  const { access, console, servesZitadel, requestContext } = options
  for (const method of [...SERVICES, ...ZITADEL_SERVICES].flatMap(({ methods }) => methods)) permissionOf(method)
  const routing = { requestContext, maxMessageBytes: maxBytesOf }
  const router = addServices(routerWith({ authenticate: byToken(access, requestContext), access }, options), options)
  if (servesZitadel) addZitadelServices(router, options)
  const rest = servesZitadel ? restRoutesOf(router, ZITADEL_REST, routing) : []
  const routes = new Map([...routesOf(router, routing), ...rest])
  if (console === null) return routes

  // The same services behind another gate, so that neither takes the proofs of the other.
  const bySessions = { authenticate: bySession(console.access), access: console.access }
  const consoleRouter = routerWith(bySessions, { ...options, grpc: false, grpcWeb: false })
  const calls = routesOf(addServices(consoleRouter, options), routing)
  const session = sessionEndpoint({ ...options, ...console, signInPath: console.openId === null ? null : SIGN_IN_PATH })
  const openId = console.openId === null ? null : openIdEndpoint({ ...options, ...console.openId })
  return new Map([...routes, ...consoleRoutes({ ...options, calls, session, openId, headers: console.headers })])
}

type Gatekeeper = Pick<GateOptions, 'authenticate'> & {
  readonly access: Pick<Access, 'authorize' | 'assertStorageReachable' | 'reauthorize'>
}

function routerWith(gatekeeper: Gatekeeper, options: RpcOptions & ConnectRouterOptions): ConnectRouter {
  return createConnectRouter({
    grpc: options.grpc ?? true,
    grpcWeb: options.grpcWeb ?? true,
    ...connectOptions(MAX_MESSAGE_BYTES),
    requestGate: authorize({ ...options, ...gatekeeper }),
    interceptors: [
      translateErrors(options),
      auditRefusals(options.audit),
      normalizeTexts(),
      reauthorize(gatekeeper.access),
      createValidateInterceptor(),
    ],
  })
}
