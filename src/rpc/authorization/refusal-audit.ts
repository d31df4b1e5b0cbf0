/**
 * Which refused calls go into the audit trail, and what they were about.
 *
 * A refusal is a decision about a request that makes sense. What cannot be read, or breaks a rule of the proto, asks
 * for nothing; when the database cannot be reached, nothing has been decided; a change that is stored but not in force
 * here is an event already, and one whose outcome is not known may be.
 */
import type { Interceptor } from '@connectrpc/connect'
import { projectResource, userResource, webKeyResource } from '../../app/audit/audit-resources.ts'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import { DomainError, type DomainErrorCode } from '../../domain/errors.ts'
import { isUuid } from '../../domain/uuid.ts'
import { reasonOf } from '../messages/errors.ts'
import { actorOf } from './actor.ts'

const isThumbprint = (text: string) => /^[A-Za-z0-9_-]{43}$/.test(text)
const isRole = (text: string) => /^[A-Za-z0-9._:-]{1,100}$/.test(text)
const isScope = (text: string) => /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(text)

/** Writes down what handlers refuse. */
export function writeDownRefusals(audit: Pick<AuditTrail, 'refuse'>): Interceptor {
  return (next) => async (req) => {
    try {
      return await next(req)
    } catch (error) {
      const resource = req.stream ? '' : resourceOf(req.message)
      writeDownRefusal(audit, { ...actorOf({ values: req.contextValues }), resource }, error)
      throw error
    }
  }
}

const NO_REFUSALS: readonly DomainErrorCode[] = ['storage_unavailable', 'change_not_in_force', 'change_outcome_unknown']

/** Writes an error down if it is a refusal. */
export function writeDownRefusal(audit: Pick<AuditTrail, 'refuse'>, entry: AuditEntry, error: unknown): void {
  if (error instanceof DomainError && !NO_REFUSALS.includes(error.code)) audit.refuse(entry, reasonOf(error.code))
}

/**
 * What a request is about, by the names of its fields; empty if they do not say.
 *
 * Only what looks like the id or name that it should be is used: a secret in the wrong field must not be kept.
 */
export function resourceOf(request: object): string {
  const read = (field: string, isOne: (text: string) => boolean): string | undefined => {
    const value: unknown = field in request ? request[field as keyof typeof request] : undefined
    return typeof value === 'string' && isOne(value) ? value : undefined
  }
  const userId = read('userId', isUuid)
  const projectId = read('projectId', isUuid)
  const role = read('role', isRole)
  const scope = read('scope', isScope)
  if (userId !== undefined) {
    const [secretId, keyId, tokenId] = ['secretId', 'keyId', 'tokenId'].map((field) => read(field, isUuid))
    if (secretId !== undefined) return userResource(userId, 'secrets', secretId)
    if (keyId !== undefined) return userResource(userId, 'keys', keyId)
    if (tokenId !== undefined) return userResource(userId, 'tokens', tokenId)
    if (projectId !== undefined && role !== undefined) return userResource(userId, 'projects', projectId, 'roles', role)
    return scope === undefined ? userResource(userId) : userResource(userId, 'scopes', scope)
  }
  if (projectId !== undefined) {
    if (role !== undefined) return projectResource(projectId, 'roles', role)
    return scope === undefined ? projectResource(projectId) : projectResource(projectId, 'scopes', scope)
  }
  const webKeyId = read('keyId', isThumbprint)
  return webKeyId === undefined ? '' : webKeyResource(webKeyId)
}
