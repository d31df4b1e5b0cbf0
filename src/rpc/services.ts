/** The services that are behind the gate, and what each of them calls. */
import type { DescService } from '@bufbuild/protobuf'
import type { ConnectRouter } from '@connectrpc/connect'
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
import type { KeyRotation } from '../app/keys/key-rotation.ts'
import type { WebKeys } from '../app/keys/web-keys.ts'
import { auditService } from './audit/audit-service.ts'
import { configService } from './configuration/config-service.ts'
import { consoleService } from './console/console-service.ts'
import type { OpenIdEndpointOptions } from './console/openid-endpoint.ts'
import { webhookService } from './events/webhook-service.ts'
import { trustedIssuerService } from './federation/trusted-issuer-service.ts'
import { clientCertificateService, federatedIdentityService } from './identities/credential-services.ts'
import { projectService } from './identities/project-service.ts'
import { serviceUserService } from './identities/service-user-service.ts'
import { instanceService } from './instance/instance-service.ts'
import { webKeyBetaService } from './keys/web-key-beta-service.ts'
import { webKeyService } from './keys/web-key-service.ts'
import { zitadelWebKeyService } from './keys/zitadel-web-key-service.ts'
import { MAX_MESSAGE_BYTES } from './protocol/handler-routes.ts'

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

export interface ServiceParts {
  readonly webKeys: WebKeys
  readonly rotation: KeyRotation
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
}

export interface ConsoleRpc {
  readonly sessions: ConsoleSessions
  readonly access: SessionAccess
  /** Signing people in; null without an OpenID provider. */
  readonly openId: Pick<OpenIdEndpointOptions, 'provider' | 'people' | 'attempts' | 'digest'> | null
  readonly headers: Readonly<Record<string, string>>
  readonly tokenLifetimeSeconds: number
}

export function addServices(router: ConnectRouter, parts: ServiceParts): ConnectRouter {
  const { webKeys, rotation, projects, users, credentials, trustedIssuers, audit } = parts
  const { instance, configurations, console, baseUrl, auditFeed, stopping, webhooks } = parts
  router
    .service(BetaWebKeyService, webKeyBetaService(webKeys))
    .service(WebKeyService, webKeyService(webKeys, rotation))
    .service(ProjectService, projectService(projects, users))
    .service(ServiceUserService, serviceUserService(parts))
    .service(ClientCertificateService, clientCertificateService(credentials))
    .service(TrustedIssuerService, trustedIssuerService(trustedIssuers))
    .service(FederatedIdentityService, federatedIdentityService(credentials))
    .service(AuditService, auditService(audit, { feed: auditFeed, stopping }))
    .service(InstanceService, instanceService(instance))
    .service(WebhookService, webhookService(webhooks))
    .service(ConfigService, configService(configurations), { readMaxBytes: MAX_CONFIGURATION_BYTES })
  return console === null ? router : router.service(ConsoleService, consoleService(console.sessions, baseUrl))
}

export function addZitadelServices(router: ConnectRouter, { webKeys }: Pick<ServiceParts, 'webKeys'>): ConnectRouter {
  const service = zitadelWebKeyService(webKeys)
  return router.service(ZitadelWebKeyService, service).service(ZitadelBetaWebKeyService, service)
}

/** The longest message of a service, as it is sent and decompressed, in bytes. */
export function maxBytesOf({ typeName }: DescService): number {
  return typeName === ConfigService.typeName ? MAX_CONFIGURATION_BYTES : MAX_MESSAGE_BYTES
}
