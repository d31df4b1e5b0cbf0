/**
 * Records failed authentications of existing users in the audit trail. Those of unknown users are only rate-limited
 * (`app/access/attempt-limiter.ts`).
 */
import type { IncomingMessage } from 'node:http'
import { userResource } from '../../app/audit/audit-resources.ts'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import { ANONYMOUS } from '../../domain/audit.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import { OAUTH_PATHS } from '../endpoints.ts'

/** The action of a request to each endpoint that authenticates clients. */
const ACTIONS: ReadonlyMap<string | undefined, string> = new Map([
  [OAUTH_PATHS.token, 'oauth/token'],
  [OAUTH_PATHS.introspection, 'oauth/introspect'],
  [OAUTH_PATHS.revocation, 'oauth/revoke'],
])

/** The error of RFC 6749 §5.2, in the format of a reason. */
const OUTCOME = 'INVALID_CLIENT'

/** Records that a request claimed to be from the user and did not prove it. Call it after the response was sent. */
export function auditFailure(
  req: IncomingMessage,
  userId: string,
  {
    audit,
    contexts,
  }: { readonly audit: Pick<AuditTrail, 'refuse'>; readonly contexts: Pick<RequestContext, 'addressOf'> },
): void {
  const action = ACTIONS.get(req.url?.split('?', 1)[0]) ?? ''
  const requestId = String(req.headers['x-request-id'] ?? '')
  const clientAddress = contexts.addressOf(req)
  audit.refuse({ actor: ANONYMOUS, action, resource: userResource(userId), requestId, clientAddress }, OUTCOME)
}
