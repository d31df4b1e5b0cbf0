/**
 * The RPC services as one request handler, behind their gates: one for tokens, and one for the sessions of the console.
 *
 * Services that need no token are in `public-routes.ts`.
 */
import type { DescService } from '@bufbuild/protobuf'
import { type ConnectRouter, type ConnectRouterOptions, createConnectRouter } from '@connectrpc/connect'
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
import type { TrustedIssuers } from '../app/federation/trusted-issuers.ts'
import type { Credentials } from '../app/identities/credentials.ts'
import type { Projects } from '../app/identities/projects.ts'
import type { ServiceUsers } from '../app/identities/service-users.ts'
import type { InstanceOverview } from '../app/instance/instance-overview.ts'
import type { WebKeys } from '../app/keys/web-keys.ts'
import { SIGN_IN_PATH } from '../domain/console/sign-ins.ts'
import type { Log, RequestContext } from '../domain/ports/runtime.ts'
import type { Routes } from '../http/requests/router.ts'
import { auditService } from './audit/audit-service.ts'
import { authorize, byToken, type GateOptions, permissionOf, reauthorize } from './authorization/authorize.ts'
import { auditRefusals } from './authorization/refusal-audit.ts'
import { configService } from './configuration/config-service.ts'
import { bySession, consoleRoutes } from './console/console-routes.ts'
import { consoleService } from './console/console-service.ts'
import { type OpenIdEndpointOptions, openIdEndpoint } from './console/openid-endpoint.ts'
import { sessionEndpoint } from './console/session-endpoint.ts'
import { webhookService } from './events/webhook-service.ts'
import { trustedIssuerService } from './federation/trusted-issuer-service.ts'
import { clientCertificateService, federatedIdentityService } from './identities/credential-services.ts'
import { projectService } from './identities/project-service.ts'
import { serviceUserService } from './identities/service-user-service.ts'
import { instanceService } from './instance/instance-service.ts'
import { webKeyBetaService } from './keys/web-key-beta-service.ts'
import { webKeyService } from './keys/web-key-service.ts'
import { ZITADEL_REST, zitadelWebKeyService } from './keys/zitadel-web-key-service.ts'
import { normalizeTexts } from './messages/interceptors.ts'
import { translateErrors } from './protocol/call-context.ts'
import { connectOptions, MAX_MESSAGE_BYTES, restRoutesOf, routesOf } from './protocol/handler-routes.ts'

/** The longest message of the service of configurations, as it is sent and decompressed, in bytes. One can have thousands of users. */
const MAX_CONFIGURATION_BYTES = 4 * 1024 * 1024

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

export const ZITADEL_SERVICES = [ZitadelWebKeyService, ZitadelBetaWebKeyService]

export interface RpcOptions {
  readonly webKeys: WebKeys
  readonly projects: Projects
  readonly users: ServiceUsers
  readonly credentials: Credentials
  readonly introspection: Introspection
  readonly trustedIssuers: TrustedIssuers
  readonly audit: AuditTrail
  readonly auditFeed: AuditFeed
  /** Aborted when the server stops: streams end then. */
  readonly stopping: AbortSignal
  readonly webhooks: Webhooks
  readonly instance: InstanceOverview
  readonly configurations: Configurations
  /** Null: there is no console. */
  readonly console: ConsoleRpc | null
  readonly baseUrl: string
  readonly access: Access
  /** Throws {DomainError} `primary_region` if the database is a standby. */
  readonly assertPrimary: () => void
  readonly servesDeprecated: boolean
  readonly servesZitadel: boolean
  readonly requestContext: RequestContext
  readonly log: Log
}

export interface ConsoleRpc {
  readonly sessions: ConsoleSessions
  readonly access: SessionAccess
  /** Signing people in; null without an OpenID provider. */
  readonly openId: Pick<OpenIdEndpointOptions, 'provider' | 'people' | 'attempts' | 'digest'> | null
  readonly headers: Readonly<Record<string, string>>
  readonly tokenLifetimeSeconds: number
}

/** Makes the handlers of all RPC services behind the gate by path. @throws {Error} if a method names no permission. */
export function createRpcRoutes(options: RpcOptions): Routes {
  const { access, console, servesZitadel, requestContext } = options
  for (const method of [...SERVICES, ...ZITADEL_SERVICES].flatMap(({ methods }) => methods)) permissionOf(method)
  const routing = {
    requestContext,
    maxMessageBytes: (service: DescService) =>
      service === ConfigService ? MAX_CONFIGURATION_BYTES : MAX_MESSAGE_BYTES,
  }
  const router = addServices(routerWith({ authenticate: byToken(access, requestContext), access }, options), options)
  const zitadel = zitadelWebKeyService(options.webKeys)
  if (servesZitadel) for (const service of ZITADEL_SERVICES) router.service(service, zitadel)
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

function addServices(router: ConnectRouter, options: RpcOptions): ConnectRouter {
  const { webKeys, projects, users, credentials, introspection, trustedIssuers, audit, auditFeed, stopping } = options
  const { instance, configurations, console, baseUrl, webhooks } = options
  router
    .service(BetaWebKeyService, webKeyBetaService(webKeys))
    .service(WebKeyService, webKeyService(webKeys))
    .service(ProjectService, projectService(projects, users))
    .service(ServiceUserService, serviceUserService(users, credentials, introspection))
    .service(ClientCertificateService, clientCertificateService(credentials))
    .service(TrustedIssuerService, trustedIssuerService(trustedIssuers))
    .service(FederatedIdentityService, federatedIdentityService(credentials))
    .service(AuditService, auditService(audit, auditFeed, stopping))
    .service(InstanceService, instanceService(instance))
    .service(WebhookService, webhookService(webhooks))
    .service(ConfigService, configService(configurations), { readMaxBytes: MAX_CONFIGURATION_BYTES })
  return console === null ? router : router.service(ConsoleService, consoleService(console.sessions, baseUrl))
}
