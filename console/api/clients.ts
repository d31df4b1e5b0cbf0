/**
 * The clients of the API, through the session of the page, and lists of several pages.
 *
 * A call is one of two kinds: what a person does counts as use of the session, what the page does by itself does not.
 */
import { type CallOptions, createClient, type Interceptor } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { AuditService } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { ConsoleService } from '../../gen/iam/console/v2/console_service_pb.js'
import { WebhookService } from '../../gen/iam/event/v2/webhook_service_pb.js'
import { FederatedIdentityService } from '../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { TrustedIssuerService } from '../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { InstanceService } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { ProjectService } from '../../gen/iam/project/v2/project_service_pb.js'
import { ClientCertificateService } from '../../gen/iam/user/v2/client_certificate_service_pb.js'
import { ServiceUserService } from '../../gen/iam/user/v2/service_user_service_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { BACKGROUND, HEADER, noteEndOfSession, PERSON } from '../session/session.ts'

/** Options of a call that the page makes by itself. */
export const IN_BACKGROUND: CallOptions = { headers: { [HEADER]: BACKGROUND } }

/** Marks each call as one of this page, and notices when the session is over. */
const throughSession: Interceptor = (next) => async (request) => {
  if (!request.header.has(HEADER)) request.header.set(HEADER, PERSON)
  try {
    return await next(request)
  } catch (error) {
    noteEndOfSession(error)
    throw error
  }
}

const transport = createConnectTransport({ baseUrl: '/console/api', interceptors: [throughSession] })

export const webKeys = createClient(WebKeyService, transport)
export const serviceUsers = createClient(ServiceUserService, transport)
export const projects = createClient(ProjectService, transport)
export const auditTrail = createClient(AuditService, transport)
export const federatedIdentities = createClient(FederatedIdentityService, transport)
export const trustedIssuers = createClient(TrustedIssuerService, transport)
export const instanceService = createClient(InstanceService, transport)
export const consoleService = createClient(ConsoleService, transport)
export const clientCertificates = createClient(ClientCertificateService, transport)
export const webhookService = createClient(WebhookService, transport)

/** The greatest number of items that a page has. */
const LARGEST = 1000

interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

interface Page {
  readonly nextPageToken: string
}

/** The items of all pages, which a page has under a name. */
export async function everyItemOf<Name extends string, P extends Page & Readonly<Record<Name, readonly unknown[]>>>(
  name: Name,
  read: (page: PageRequest) => Promise<P>,
): Promise<P[Name][number][]> {
  const all: P[Name][number][] = []
  for await (const page of pagesOf(read)) all.push(...page[name])
  return all
}

/** One page after the other. */
export async function* pagesOf<P extends Page>(read: (page: PageRequest) => Promise<P>): AsyncGenerator<P> {
  let pageToken = ''
  do {
    const page = await read({ pageSize: LARGEST, pageToken })
    yield page
    pageToken = page.nextPageToken
  } while (pageToken !== '')
}
