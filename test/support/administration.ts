/**
 * The administration of a running server as its clients see it: generated clients, plain JSON, and refusals.
 */
import { type DescMethod, type DescMethodUnary, getOption } from '@bufbuild/protobuf'
import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { AuditService } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { required_permission } from '../../gen/iam/auth/v1/permission_pb.js'
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
import { isPermission } from '../../src/domain/identities/permission.ts'
import { type Keyturn, requestToken } from './keyturn.ts'

/** Every service of the API. */
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

/** Every unary method of the API, and the permission that its option names. */
export const METHODS = SERVICES.flatMap((service) => service.methods.filter(isUnary)).map((method) => {
  const permission = getOption(method, required_permission)
  if (!isPermission(permission)) throw new Error(`${permission} is no permission`)
  return { path: `${method.parent.typeName}/${method.name}`, permission, method }
})

function isUnary(method: DescMethod): method is DescMethod & DescMethodUnary {
  return method.methodKind === 'unary'
}

/** A client of each service, with one token. */
export interface Administration {
  readonly token: string
  readonly projects: Client<typeof ProjectService>
  readonly users: Client<typeof ServiceUserService>
  readonly certificates: Client<typeof ClientCertificateService>
  readonly issuers: Client<typeof TrustedIssuerService>
  readonly identities: Client<typeof FederatedIdentityService>
  readonly audit: Client<typeof AuditService>
  readonly instance: Client<typeof InstanceService>
  readonly console: Client<typeof ConsoleService>
  readonly webhooks: Client<typeof WebhookService>
  readonly configurations: Client<typeof ConfigService>
  /** The deprecated service. */
  readonly webKeys: Client<typeof BetaWebKeyService>
  readonly keys: Client<typeof WebKeyService>
  /** Sends a request as plain JSON. @param method For example `iam.project.v2.ProjectService/GetProject`. */
  post(method: string, request?: unknown): Promise<{ status: number; headers: Headers; body: JsonAnswer }>
}

/** A response, or an error, in the JSON of Connect. */
export type JsonAnswer = Record<string, unknown> & { code?: string; message?: string }

/** Clients of a server that send this token. */
export function administrationWith(server: Pick<Keyturn, 'listenUrl'>, token: string): Administration {
  const authenticate: Interceptor = (next) => (req) => {
    req.header.set('authorization', `Bearer ${token}`)
    return next(req)
  }
  const transport = createConnectTransport({
    baseUrl: server.listenUrl,
    httpVersion: '1.1',
    interceptors: [authenticate],
  })
  return {
    token,
    projects: createClient(ProjectService, transport),
    users: createClient(ServiceUserService, transport),
    certificates: createClient(ClientCertificateService, transport),
    issuers: createClient(TrustedIssuerService, transport),
    identities: createClient(FederatedIdentityService, transport),
    audit: createClient(AuditService, transport),
    instance: createClient(InstanceService, transport),
    console: createClient(ConsoleService, transport),
    webhooks: createClient(WebhookService, transport),
    configurations: createClient(ConfigService, transport),
    webKeys: createClient(BetaWebKeyService, transport),
    keys: createClient(WebKeyService, transport),
    post: async (method, request = {}) => {
      const response = await fetch(`${server.listenUrl}/${method}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(request),
      })
      return { status: response.status, headers: response.headers, body: (await response.json()) as JsonAnswer }
    },
  }
}

/** Clients of the first administrator. */
export async function administrationOf(server: Keyturn): Promise<Administration> {
  return administrationWith(server, await requestToken(await server.admin()))
}

/** What a caller is told about a refused call. @throws {Error} if the call is not refused. */
export async function refusalOf(
  call: Promise<unknown>,
): Promise<{ readonly code: string; readonly reason: string | undefined; readonly message: string }> {
  // Made here, so that its stack leads to the caller.
  const accepted = new Error('the call was not refused')
  const error = await call.then(
    (answer) => {
      accepted.message += ` and answered ${String((answer as { $typeName?: string }).$typeName)}`
      throw accepted
    },
    (reason: unknown) => ConnectError.from(reason),
  )
  const [info] = error.findDetails(ErrorInfoSchema)
  return { code: Code[error.code], reason: info?.reason, message: error.rawMessage }
}

/** All pages of a list, one array for each. @param read Reads one page. */
export async function pagesOf<Page extends { readonly nextPageToken: string }>(
  read: (pageToken: string) => Promise<Page>,
): Promise<Page[]> {
  const pages = [await read('')]
  for (let token = pages[0]!.nextPageToken; token !== ''; token = pages.at(-1)!.nextPageToken) {
    pages.push(await read(token))
  }
  return pages
}

/** A valid UUID that nothing has. */
export const NOBODY = '00000000-0000-4000-8000-000000000000'
