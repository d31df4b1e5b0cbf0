/**
 * Typed clients of every service of Keyturn's own API, under the names of the specification (Spec §1).
 *
 * They use the Connect protocol over `fetch`. For gRPC, give the service descriptors of this file to `createClient` of Connect with a
 * transport of `@connectrpc/connect-node`.
 */
import { type Client, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { AuditService as AuditServiceApi } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { ConfigService as ConfigServiceApi } from '../../gen/iam/config/v2/config_service_pb.js'
import { ConsoleService as ConsoleServiceApi } from '../../gen/iam/console/v2/console_service_pb.js'
import { WebhookService as WebhookServiceApi } from '../../gen/iam/event/v2/webhook_service_pb.js'
import { FederatedIdentityService as FederatedIdentityServiceApi } from '../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { TrustedIssuerService as TrustedIssuerServiceApi } from '../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { InstanceService as InstanceServiceApi } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { ProjectService as ProjectServiceApi } from '../../gen/iam/project/v2/project_service_pb.js'
import { ClientCertificateService as ClientCertificateServiceApi } from '../../gen/iam/user/v2/client_certificate_service_pb.js'
import { ServiceUserService as ServiceUserServiceApi } from '../../gen/iam/user/v2/service_user_service_pb.js'
import { WebKeyService as WebKeyServiceApi } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { WebKeyService as BetaWebKeyServiceApi } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { parseIssuer } from '../discovery/issuer-metadata.ts'
import { createTokenInterceptor } from './token-interceptor.ts'
import type { TokenSource } from './token-source.ts'

export {
  AuditServiceApi,
  BetaWebKeyServiceApi,
  ClientCertificateServiceApi,
  ConfigServiceApi,
  ConsoleServiceApi,
  FederatedIdentityServiceApi,
  InstanceServiceApi,
  ProjectServiceApi,
  ServiceUserServiceApi,
  TrustedIssuerServiceApi,
  WebhookServiceApi,
  WebKeyServiceApi,
}

/** The scope of tokens that are good for calls of Keyturn itself. */
export const API_SCOPE = 'urn:service:iam:org:project:id:service:aud'

/** One client for each service. */
export interface Api {
  /** Web keys as in the specification. Deprecated: `webKeys` replaces it. */
  readonly betaWebKeys: Client<typeof BetaWebKeyServiceApi>
  readonly webKeys: Client<typeof WebKeyServiceApi>
  readonly projects: Client<typeof ProjectServiceApi>
  readonly serviceUsers: Client<typeof ServiceUserServiceApi>
  readonly clientCertificates: Client<typeof ClientCertificateServiceApi>
  readonly trustedIssuers: Client<typeof TrustedIssuerServiceApi>
  readonly federatedIdentities: Client<typeof FederatedIdentityServiceApi>
  readonly audit: Client<typeof AuditServiceApi>
  readonly instance: Client<typeof InstanceServiceApi>
  readonly console: Client<typeof ConsoleServiceApi>
  readonly webhooks: Client<typeof WebhookServiceApi>
  readonly configurations: Client<typeof ConfigServiceApi>
}

/** Where the API is, and with which right it is called. */
export interface ApiOptions {
  /** The base URL of Keyturn. */
  readonly issuer: string
  /** Of tokens with the scope {@link API_SCOPE}. */
  readonly tokens: TokenSource
  /** What sends the requests. Default: that of the platform. */
  readonly fetch?: typeof fetch | undefined
  /** The limit for a call, in milliseconds. Default 60000: generating a large RSA key takes seconds. */
  readonly timeoutMillis?: number | undefined
}

/** The API of an instance. @throws {TypeError} if the issuer is not a base URL. */
export function createApi({ issuer, tokens, fetch, timeoutMillis = 60_000 }: ApiOptions): Api {
  const transport = createConnectTransport({
    baseUrl: parseIssuer(issuer),
    interceptors: [createTokenInterceptor(tokens)],
    defaultTimeoutMs: timeoutMillis,
    ...(fetch === undefined ? {} : { fetch }),
  })
  return {
    betaWebKeys: createClient(BetaWebKeyServiceApi, transport),
    webKeys: createClient(WebKeyServiceApi, transport),
    projects: createClient(ProjectServiceApi, transport),
    serviceUsers: createClient(ServiceUserServiceApi, transport),
    clientCertificates: createClient(ClientCertificateServiceApi, transport),
    trustedIssuers: createClient(TrustedIssuerServiceApi, transport),
    federatedIdentities: createClient(FederatedIdentityServiceApi, transport),
    audit: createClient(AuditServiceApi, transport),
    instance: createClient(InstanceServiceApi, transport),
    console: createClient(ConsoleServiceApi, transport),
    webhooks: createClient(WebhookServiceApi, transport),
    configurations: createClient(ConfigServiceApi, transport),
  }
}

/** Why Keyturn refused a call, such as `WEB_KEY_ACTIVE`; undefined for any other error. Decide by it, never by the message. */
export function reasonOf(error: unknown): string | undefined {
  return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason
}
