/**
 * The RPC services as one request handler: gRPC, gRPC-Web and Connect on the same paths, and REST where a method has a path of its own.
 *
 * All of them are behind the gate. Services that need no token are in `public-routes.ts`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { DescService } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import { type ConnectRouter, type ContextValues, createConnectRouter } from '@connectrpc/connect'
import type { UniversalHandler, UniversalServerRequest } from '@connectrpc/connect/protocol'
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node'
import { createValidateInterceptor } from '@connectrpc/validate'
import { AuditService } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { ConfigService } from '../../gen/iam/config/v2/config_service_pb.js'
import { ConsoleService } from '../../gen/iam/console/v2/console_service_pb.js'
import { WebhookService } from '../../gen/iam/event/v2/webhook_service_pb.js'
import { FederatedIdentityService } from '../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { TrustedIssuerService } from '../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { InstanceService } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { ProjectService } from '../../gen/iam/project/v2/project_service_pb.js'
import { ClientCertificateService } from '../../gen/iam/user/v2/client_certificate_service_pb.js'
import { ServiceUserService } from '../../gen/iam/user/v2/service_user_service_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { WebKeyService as ZitadelWebKeyService } from '../../gen/zitadel/webkey/v2/webkey_service_pb.js'
import { WebKeyService as ZitadelBetaWebKeyService } from '../../gen/zitadel/webkey/v2beta/webkey_service_pb.js'
import type { Access } from '../app/access/access.ts'
import type { Introspection } from '../app/access/introspection.ts'
import type { AuditFeed } from '../app/audit/audit-feed.ts'
import type { AuditTrail } from '../app/audit/audit-trail.ts'
import type { Configurations } from '../app/configuration/configurations.ts'
import type { ConsoleSessions } from '../app/console/console-sessions.ts'
import type { SessionAccess } from '../app/console/session-access.ts'
import type { Webhooks } from '../app/events/webhooks.ts'
import type { FederatedIdentities } from '../app/federation/federated-identities.ts'
import type { TrustedIssuers } from '../app/federation/trusted-issuers.ts'
import type { ClientCertificates } from '../app/identities/client-certificates.ts'
import type { Credentials } from '../app/identities/credentials.ts'
import type { Projects } from '../app/identities/projects.ts'
import type { ServiceUsers } from '../app/identities/service-users.ts'
import type { DeprecatedCallCounter } from '../app/instance/deprecated-call-counter.ts'
import type { InstanceOverview } from '../app/instance/instance-overview.ts'
import type { KeyRotation } from '../app/keys/key-rotation.ts'
import type { WebKeys } from '../app/keys/web-keys.ts'
import { SIGN_IN_PATH } from '../domain/console/paths.ts'
import type { Log, RequestContext } from '../domain/ports.ts'
import { auditService } from './audit/audit-service.ts'
import { authorize, byToken, type GateOptions, permissionsOf, reauthorize } from './authorization/authorize.ts'
import { auditRefusals } from './authorization/refusal-audit.ts'
import { configService } from './configuration/config-service.ts'
import { bySession, consoleRoutes } from './console/console-routes.ts'
import { consoleService } from './console/console-service.ts'
import { type OpenIdEndpointOptions, openIdEndpoint } from './console/openid-endpoint.ts'
import { sessionEndpoint } from './console/session-endpoint.ts'
import { webhookService } from './events/webhook-service.ts'
import { federatedIdentityService } from './federation/federated-identity-service.ts'
import { trustedIssuerService } from './federation/trusted-issuer-service.ts'
import { clientCertificateService } from './identities/client-certificate-service.ts'
import { projectService } from './identities/project-service.ts'
import { serviceUserService } from './identities/service-user-service.ts'
import { instanceService } from './instance/instance-service.ts'
import { webKeyBetaService } from './keys/web-key-beta-service.ts'
import { webKeyService } from './keys/web-key-service.ts'
import { ZITADEL_REST } from './keys/zitadel-rest.ts'
import { zitadelWebKeyService } from './keys/zitadel-web-key-service.ts'
import { translateErrors, unavailable } from './messages/errors.ts'
import { normalizeTexts } from './messages/fields.ts'
import { CallContexts } from './protocol/call-context.ts'
import { deprecationHeaders } from './protocol/deprecation.ts'
import { asPost } from './protocol/get-request.ts'
import { withReadableMessage } from './protocol/grpc-message.ts'
import { acceptedCompression, GZIP } from './protocol/gzip.ts'
import { withRefusalBody } from './protocol/http-refusals.ts'
import { adjustHeaders } from './protocol/request-headers.ts'
import { type RestBinding, toCall, toRestResponse } from './protocol/rest.ts'
import { strictlyDecoded } from './protocol/strict-decoding.ts'

/** The longest message that is read, as it is sent and decompressed, in bytes. */
const MAX_MESSAGE_BYTES = 64 * 1024

/** The same of a service that needs more: a configuration can have thousands of users. */
const MAX_CONFIGURATION_BYTES = 4 * 1024 * 1024

/** The options of Connect for every service. @param maxMessageBytes The longest message, as it is sent and decompressed. */
export function connectOptions(maxMessageBytes: number) {
  return {
    // A misspelt field or enum name must not make another key than asked.
    jsonOptions: { ignoreUnknownFields: false },
    acceptCompression: [GZIP],
    readMaxBytes: maxMessageBytes,
  }
}

/** Keyturn's own services behind the gate. The gate knows the permissions of these and of `ZITADEL_SERVICES` only. */
export const SERVICES = [
  BetaWebKeyService,
  WebKeyService,
  ProjectService,
  ServiceUserService,
  ClientCertificateService,
  TrustedIssuerService,
  FederatedIdentityService,
  AuditService,
  InstanceService,
  ConsoleService,
  WebhookService,
  ConfigService,
]

/** The services for clients of ZITADEL, behind the same gate. */
export const ZITADEL_SERVICES = [ZitadelWebKeyService, ZitadelBetaWebKeyService]

/** What the services need. */
export interface RpcOptions {
  readonly webKeys: WebKeys
  readonly rotation: KeyRotation
  readonly projects: Projects
  readonly users: ServiceUsers
  readonly credentials: Credentials
  readonly introspection: Introspection
  readonly certificates: ClientCertificates
  readonly trustedIssuers: TrustedIssuers
  readonly federatedIdentities: FederatedIdentities
  readonly audit: AuditTrail
  readonly auditFeed: AuditFeed
  /** Aborted when the server stops: streams end then. */
  readonly stopping: AbortSignal
  readonly webhooks: Webhooks
  readonly access: Access
  /** Throws {DomainError} `primary_region` if the database is a standby. */
  readonly assertPrimary: () => void
  readonly instance: InstanceOverview
  readonly deprecatedCalls: DeprecatedCallCounter
  readonly configurations: Configurations
  /** Null: there is no console. */
  readonly console: ConsoleRpc | null
  /** The base URL. */
  readonly baseUrl: string
  /** Whether deprecated services are served. */
  readonly servesDeprecated: boolean
  /** Whether clients of ZITADEL are served. */
  readonly servesZitadel: boolean
  readonly requestContext: RequestContext
  readonly log: Log
}

/** What the console needs besides. */
export interface ConsoleRpc {
  readonly sessions: ConsoleSessions
  readonly access: SessionAccess
  /** Signing people in; null without an OpenID provider. */
  readonly openId: Pick<OpenIdEndpointOptions, 'provider' | 'people' | 'attempts' | 'digest'> | null
  /** Headers of every response of the console. */
  readonly headers: Readonly<Record<string, string>>
  readonly tokenLifetimeSeconds: number
}

/** Answers a request. @throws The error that prevented a response, if the client is still connected. */
export type Answer = (req: IncomingMessage, res: ServerResponse, exchange: Exchange) => Promise<void>

/** One path. */
export interface RpcRoute {
  /** By HTTP method. A method without side effects may be called by GET. */
  readonly answers: Readonly<Partial<Record<RestBinding['httpMethod'], Answer>>>
  /** Headers of every response at the path, refusals of the router included. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether pages of other origins may call it. */
  readonly anyOrigin: boolean
  /** The longest body with a Content-Length, in bytes. Default: that of all paths. */
  readonly maxBodyBytes?: number
}

/**
 * Reserves memory for a request besides its body, in bytes, until the request is answered.
 *
 * @returns Whether the memory budget allows it.
 */
export type Reserve = (bytes: number) => boolean

/** What a handler needs of the HTTP exchange. */
export interface Exchange {
  /** Ends the response at once, and discards what the client has not received yet. */
  readonly cutOff: () => void
  readonly reserve: Reserve
}

/** By path, or by path template. */
export type RpcRoutes = ReadonlyMap<string, RpcRoute>

/** Makes the handlers of all RPC services behind the gate by path. @throws {Error} if a method names no permission. */
export function createRpcRoutes(options: RpcOptions): RpcRoutes {
  const { access, console, servesZitadel } = options
  const callContexts = new CallContexts(options.requestContext)
  const routing = { callContexts, maxMessageBytes: maxBytesOf }
  const serve = servicesOf(options)
  const router = serve(routerWith({ authenticate: byToken(access, callContexts), access }, { options, callContexts }))
  if (servesZitadel) {
    const service = zitadelWebKeyService(options.webKeys)
    router.service(ZitadelWebKeyService, service).service(ZitadelBetaWebKeyService, service)
  }
  const rest = servesZitadel ? restRoutesOf(router, ZITADEL_REST, routing) : []
  const routes = new Map([...routesOf(router, routing), ...rest])
  if (console === null) return routes

  // The same services behind another gate, so that neither takes the proofs of the other.
  const gate = { authenticate: bySession(console.access), access: console.access }
  const calls = routesOf(serve(routerWith(gate, { options, callContexts, isConnectOnly: true })), routing)
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
  const { audit, log } = options
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
      translateErrors(log, callContexts),
      auditRefusals(audit),
      normalizeTexts(),
      reauthorize(access),
      createValidateInterceptor(),
    ],
  })
}

/** Adds Keyturn's own services to a router. */
function servicesOf(options: RpcOptions): (router: ConnectRouter) => ConnectRouter {
  const { webKeys, rotation, projects, users, certificates, trustedIssuers, federatedIdentities, audit } = options
  const { instance, deprecatedCalls, configurations, console, baseUrl, auditFeed, stopping, webhooks } = options
  return (router) => {
    router
      .service(BetaWebKeyService, webKeyBetaService(webKeys))
      .service(WebKeyService, webKeyService(webKeys, rotation))
      .service(ProjectService, projectService(projects, users))
      .service(ServiceUserService, serviceUserService(options))
      .service(ClientCertificateService, clientCertificateService(certificates))
      .service(TrustedIssuerService, trustedIssuerService(trustedIssuers))
      .service(FederatedIdentityService, federatedIdentityService(federatedIdentities))
      .service(AuditService, auditService(audit, { feed: auditFeed, stopping }))
      .service(InstanceService, instanceService(instance, deprecatedCalls))
      .service(WebhookService, webhookService(webhooks))
      .service(ConfigService, configService(configurations), { readMaxBytes: MAX_CONFIGURATION_BYTES })
    return console === null ? router : router.service(ConsoleService, consoleService(console.sessions, baseUrl))
  }
}

/** What the handlers of a router need. */
interface RoutesOptions {
  readonly callContexts: CallContexts
  /** The longest message of a service, as it is sent and decompressed, in bytes. */
  readonly maxMessageBytes: (service: DescService) => number
}

function maxBytesOf({ typeName }: DescService): number {
  return typeName === ConfigService.typeName ? MAX_CONFIGURATION_BYTES : MAX_MESSAGE_BYTES
}

/** The handlers of a router by path. */
export function routesOf(router: ConnectRouter, options: RoutesOptions): RpcRoutes {
  return new Map(
    router.handlers.map((handler) => {
      const answer = createAnswer(handler, options)
      const answers = isReadOnly(handler) ? { GET: answer, POST: answer } : { POST: answer }
      const headers = deprecationHeaders(handler.requestPath)
      const maxBodyBytes = options.maxMessageBytes(handler.service)
      return [handler.requestPath, { answers, headers, anyOrigin: true, maxBodyBytes }]
    }),
  )
}

/** The handlers of a router by REST path. */
function restRoutesOf(router: ConnectRouter, bindings: readonly RestBinding[], options: RoutesOptions): RpcRoutes {
  const handlers = new Map(router.handlers.map((handler) => [handler.method, handler]))
  const answerOf = (binding: RestBinding): Answer => {
    const handler = handlers.get(binding.method)
    if (handler === undefined) throw new Error(`${binding.path} is the path of a method that is not served`)
    return createAnswer(handler, options, binding)
  }
  return new Map(
    [...Map.groupBy(bindings, ({ path }) => path)].map(([path, bound]) => {
      const answers = Object.fromEntries(bound.map((binding) => [binding.httpMethod, answerOf(binding)]))
      return [path, { answers, headers: {}, anyOrigin: false }]
    }),
  )
}

/** @param binding The REST path of the request, if it has one. */
function createAnswer(handler: UniversalHandler, options: RoutesOptions, binding?: RestBinding): Answer {
  return async (req, res, { cutOff, reserve }) => {
    res.setHeader('cache-control', 'no-store')
    res.setHeader(...acceptedCompression(req.headers['content-type']))
    const values = options.callContexts.valuesFor(req, cutOff)
    try {
      const response = await answer(handler, req, { ...options, binding, res, values, reserve })
      // Over HTTP/2 the response to HEAD ends with its headers, and writing a body would fail.
      if (req.method === 'HEAD') delete response.body
      await universalResponseToNodeResponse(response, res)
    } catch (error) {
      // Clients may disconnect at any time, so that is not logged. What has no code is a defect.
      if (!isDisconnected(res) || !(error instanceof Error && 'code' in error)) throw error
    }
  }
}

/** One request to a handler. */
interface Call extends RoutesOptions {
  readonly binding: RestBinding | undefined
  readonly res: ServerResponse
  readonly values: ContextValues
  readonly reserve: Reserve
}

async function answer(handler: UniversalHandler, req: IncomingMessage, call: Call) {
  const { binding, res, values, callContexts, reserve } = call
  const { method } = handler
  const maxBytes = call.maxMessageBytes(handler.service)
  const received = universalRequestFromNodeRequest(req, res, undefined, values)
  const request = binding === undefined ? asPost(received, isReadOnly(handler)) : toCall(received, binding)
  const { header } = request
  const respond = async (request: UniversalServerRequest) => {
    const response = withReadableMessage(await handler(request))
    const refusal = { httpMethod: request.method, contentType: header.get('content-type'), method }
    const complete = withRefusalBody(response, refusal)
    return binding === undefined ? complete : toRestResponse(complete)
  }
  adjustHeaders(header, method)
  // The body of a bidirectional stream is read while the response is sent, so it cannot be decoded before.
  if (!isIterable(request.body) || method.methodKind === 'bidi_streaming') return respond(request)
  const isLarge = maxBytes > MAX_MESSAGE_BYTES
  const body = strictlyDecoded(isLarge ? reserved(request.body, { header, maxBytes, reserve }) : request.body, {
    type: method.input,
    header,
    maxBytes,
    reserve,
    onRefused: (error) => callContexts.refused(values, error),
  })
  return respond({ ...request, body })
}

/**
 * A long body, for which memory is reserved before it is read: that is after the gate. What is counted of each body as it arrives is not
 * enough for one that is longer than the others.
 */
async function* reserved(
  body: AsyncIterable<Uint8Array>,
  { header, maxBytes, reserve }: { readonly header: Headers; readonly maxBytes: number; readonly reserve: Reserve },
): AsyncIterable<Uint8Array> {
  const announced = Number(header.get('content-length') ?? maxBytes)
  const bytes = Math.min(announced, maxBytes)
  if (bytes > MAX_MESSAGE_BYTES && !reserve(bytes))
    throw unavailable('too many large requests at the same time: try again later')
  yield* body
}

/** Whether the client has disconnected or the response was cut off. */
function isDisconnected(res: ServerResponse | Http2ServerResponse): boolean {
  return 'stream' in res ? res.stream.closed || res.stream.destroyed : res.destroyed || res.socket?.destroyed === true
}

function isReadOnly({ method }: UniversalHandler): boolean {
  return method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS
}

function isIterable(body: UniversalServerRequest['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}
