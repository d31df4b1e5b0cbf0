/**
 * Typed clients of every service of Keyturn's own API.
 *
 * They use the Connect protocol over `fetch`. For gRPC, give a service descriptor of this package to `createClient` of Connect with a
 * transport of `@connectrpc/connect-node`.
 */
import { type Client, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { parseIssuer } from '@keyturn/verify/discovery'
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js'
import { AuditService } from '../../../gen/iam/audit/v2/audit_service_pb.js'
import { ConfigService } from '../../../gen/iam/config/v2/config_service_pb.js'
import { ConsoleService } from '../../../gen/iam/console/v2/console_service_pb.js'
import { WebhookService } from '../../../gen/iam/event/v2/webhook_service_pb.js'
import { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { InstanceService } from '../../../gen/iam/instance/v2/instance_service_pb.js'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import { ClientCertificateService } from '../../../gen/iam/user/v2/client_certificate_service_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { createTokenInterceptor } from './token-interceptor.ts'
import type { TokenSource } from './token-source.ts'

/** The scope of tokens that are good for calls of Keyturn itself. */
export const API_SCOPE = 'urn:service:iam:org:project:id:service:aud'

const SERVICES = {
  /** Web keys as in the specification. Deprecated: `webKeys` replaces it. */
  betaWebKeys: BetaWebKeyService,
  webKeys: WebKeyService,
  projects: ProjectService,
  serviceUsers: ServiceUserService,
  clientCertificates: ClientCertificateService,
  trustedIssuers: TrustedIssuerService,
  federatedIdentities: FederatedIdentityService,
  audit: AuditService,
  instance: InstanceService,
  console: ConsoleService,
  webhooks: WebhookService,
  configurations: ConfigService,
}

export type Api = { readonly [Name in keyof typeof SERVICES]: Client<(typeof SERVICES)[Name]> }

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
  const clients = Object.entries(SERVICES).map(([name, service]) => [name, createClient(service, transport)])
  return Object.fromEntries(clients) as Api
}

/** Why Keyturn refused a call, such as `WEB_KEY_ACTIVE`; undefined for any other error. Decide by it, never by the message. */
export function reasonOf(error: unknown): string | undefined {
  return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason
}
