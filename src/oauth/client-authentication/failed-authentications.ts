/**
 * Failed authentications of users that exist, for the audit trail. What names no such user is only counted
 * (`app/access/attempt-limiter.ts`): there is nothing that it could harm.
 */
import type { IncomingMessage } from 'node:http'
import { userResource } from '../../app/audit/audit-resources.ts'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import { ANONYMOUS } from '../../domain/audit.ts'
import type { RequestContext } from '../../domain/ports.ts'

/** The action of every request to the token endpoint. */
const ACTION = 'oauth/token'

/** The error of RFC 6749 §5.2, in the form of a reason. */
const OUTCOME = 'INVALID_CLIENT'

/** Writes down that a request claimed to be from the user and did not prove it. Call it when the answer is out. */
export function writeDownFailure(
  req: IncomingMessage,
  userId: string,
  { audit, notes }: { readonly audit: Pick<AuditTrail, 'refuse'>; readonly notes: Pick<RequestContext, 'addressOf'> },
): void {
  const requestId = String(req.headers['x-request-id'] ?? '')
  const clientAddress = notes.addressOf(req)
  audit.refuse({ actor: ANONYMOUS, action: ACTION, resource: userResource(userId), requestId, clientAddress }, OUTCOME)
}
