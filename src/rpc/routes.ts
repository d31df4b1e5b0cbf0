/**
 * The RPC services as one request handler, behind their gates: one for tokens, and one for the sessions of the console.
 *
 * Services that need no token are in `public-routes.ts`.
 */
import { type ConnectRouter, createConnectRouter } from '@connectrpc/connect'
import { createValidateInterceptor } from '@connectrpc/validate'
import type { Access } from '../app/access/access.ts'
import { SIGN_IN_PATH } from '../domain/console/paths.ts'
import type { Log, RequestContext } from '../domain/ports/runtime.ts'
import { authorize, byToken, type GateOptions, permissionsOf, reauthorize } from './authorization/authorize.ts'
import { auditRefusals } from './authorization/refusal-audit.ts'
import { bySession, consoleRoutes } from './console/console-routes.ts'
import { openIdEndpoint } from './console/openid-endpoint.ts'
import { sessionEndpoint } from './console/session-endpoint.ts'
import { ZITADEL_REST } from './keys/zitadel-rest.ts'
import { translateErrors } from './messages/errors.ts'
import { normalizeTexts } from './messages/fields.ts'
import { CallContexts } from './protocol/call-context.ts'
import { connectOptions, MAX_MESSAGE_BYTES, restRoutesOf, routesOf } from './protocol/handler-routes.ts'
import type { RpcRoutes } from './rpc-route.ts'
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
  const { access, console, servesZitadel } = options
  const callContexts = new CallContexts(options.requestContext)
  const routing = { callContexts, maxMessageBytes: maxBytesOf }
  const byTokens = { authenticate: byToken(access, callContexts), access }
  const router = addServices(routerWith(byTokens, { options, callContexts }), options)
  if (servesZitadel) addZitadelServices(router, options)
  const rest = servesZitadel ? restRoutesOf(router, ZITADEL_REST, routing) : []
  const routes = new Map([...routesOf(router, routing), ...rest])
  if (console === null) return routes

  // The same services behind another gate, so that neither takes the proofs of the other.
  const bySessions = { authenticate: bySession(console.access), access: console.access }
  const consoleRouter = addServices(routerWith(bySessions, { options, callContexts, isConnectOnly: true }), options)
  const calls = routesOf(consoleRouter, routing)
  const session = sessionEndpoint({ ...options, ...console, signInPath: console.openId === null ? null : SIGN_IN_PATH })
  const openId = console.openId === null ? null : openIdEndpoint({ ...options, ...console.openId })
  return new Map([...routes, ...consoleRoutes({ ...options, calls, session, openId, headers: console.headers })])
}

/** What checks the right to a call. */
type Gatekeeper = Pick<GateOptions, 'authenticate'> & {
  readonly access: Pick<Access, 'authorize' | 'assertStorageReachable' | 'reauthorize'>
}

/** A router without services, whose calls have to pass a gate. */
function routerWith(
  { authenticate, access }: Gatekeeper,
  {
    options,
    callContexts,
    isConnectOnly = false,
  }: { readonly options: RpcOptions; readonly callContexts: CallContexts; readonly isConnectOnly?: boolean },
): ConnectRouter {
  return createConnectRouter({
    ...connectOptions(MAX_MESSAGE_BYTES),
    grpc: !isConnectOnly,
    grpcWeb: !isConnectOnly,
    requestGate: authorize({
      ...options,
      authenticate,
      access,
      permissionFor: permissionsOf([...SERVICES, ...ZITADEL_SERVICES]),
      callContexts,
    }),
    interceptors: [
      translateErrors(options, callContexts),
      auditRefusals(options.audit),
      normalizeTexts(),
      reauthorize(access),
      createValidateInterceptor(),
    ],
  })
}
