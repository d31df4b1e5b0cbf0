/**
 * Which refused calls go into the audit trail, with the resource that they were about.
 *
 * A refusal is a decision about a valid request. These are no refusals: a request that does not decode or breaks a rule of the
 * proto; a call while the database cannot be reached, or is a standby; a change that is stored but not in force here, which is an event already; a
 * change whose outcome is unknown, which may be one; the request for a DPoP nonce, after which clients try again.
 */
import type { Interceptor } from '@connectrpc/connect'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import { projectResource, trustedIssuerResource, userResource, webKeyResource } from '../../domain/audit-resources.ts'
import { DomainError, type DomainErrorCode } from '../../domain/errors.ts'
import { isUuid } from '../../domain/identifiers.ts'
import { reasonOf } from '../messages/errors.ts'
import { actorOf } from './actor.ts'

const isThumbprint = (text: string) => /^[A-Za-z0-9_-]{43}$/.test(text)
const isRole = (text: string) => /^[A-Za-z0-9._:-]{1,100}$/.test(text)
const isScope = (text: string) => /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(text)

export function auditRefusals(audit: Pick<AuditTrail, 'refuse'>): Interceptor {
  return (next) => async (req) => {
    try {
      return await next(req)
    } catch (error) {
      const resource = req.stream ? '' : resourceOf(req.message)
      auditRefusal(audit, { ...actorOf({ values: req.contextValues }), resource }, error)
      throw error
    }
  }
}

const NO_REFUSALS: readonly DomainErrorCode[] = [
  'storage_unavailable',
  'primary_region',
  'primary_unavailable',
  'change_not_in_force',
  'change_outcome_unknown',
  'dpop_nonce_required',
  'openid_provider_unavailable',
]

export function auditRefusal(audit: Pick<AuditTrail, 'refuse'>, entry: AuditEntry, error: unknown): void {
  if (error instanceof DomainError && !NO_REFUSALS.includes(error.code)) audit.refuse(entry, reasonOf(error.code))
}

/** The parts of a user, by the field with the id of one. */
const PARTS = {
  secretId: 'secrets',
  keyId: 'keys',
  tokenId: 'tokens',
  identityId: 'federated_identities',
  certificateId: 'certificates',
}

/**
 * The resource that a request is about, by the names of its fields; empty if there is none.
 *
 * A value is used only if it has the form of an id or name: a secret in the wrong field must not be stored.
 */
export function resourceOf(request: object): string {
  const read = (field: string, hasForm: (text: string) => boolean): string | undefined => {
    const value: unknown = field in request ? request[field as keyof typeof request] : undefined
    return typeof value === 'string' && hasForm(value) ? value : undefined
  }
  const [userId, projectId, issuerId] = ['userId', 'projectId', 'issuerId'].map((field) => read(field, isUuid))
  const role = read('role', isRole)
  const scope = read('scope', isScope)
  if (userId !== undefined) {
    for (const [field, part] of Object.entries(PARTS)) {
      const id = read(field, isUuid)
      if (id !== undefined) return userResource(userId, part, id)
    }
    if (projectId !== undefined && role !== undefined) return userResource(userId, 'projects', projectId, 'roles', role)
    if (projectId !== undefined) return userResource(userId, 'managed_projects', projectId)
    return scope === undefined ? userResource(userId) : userResource(userId, 'scopes', scope)
  }
  if (projectId !== undefined) {
    if (role !== undefined) return projectResource(projectId, 'roles', role)
    return scope === undefined ? projectResource(projectId) : projectResource(projectId, 'scopes', scope)
  }
  if (issuerId !== undefined) return trustedIssuerResource(issuerId)
  const webKeyId = read('keyId', isThumbprint) ?? read('id', isThumbprint)
  return webKeyId === undefined ? '' : webKeyResource(webKeyId)
}
