/**
 * Lets a call through only if its caller has the method's permission over anything: once when the headers are there, and again when the
 * whole request has been received. What the call is about is checked where that is read: use cases return only what is within the reach of
 * the authority, and changes look at it once more, under their lock.
 */
import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf'
import type { ContextValues, HandlerContext, Interceptor } from '@connectrpc/connect'
import { required_permission } from '../../../gen/iam/auth/v1/permission_pb.js'
import type { Access, AuthenticatedCaller } from '../../app/access/access.ts'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import { ANONYMOUS } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { isPermission, type Permission } from '../../domain/identities/permission.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import { mapStream } from '../messages/interceptors.ts'
import { requestOf, type TranslationOptions, translated } from '../protocol/call-context.ts'
import { successorOf } from '../protocol/deprecation.ts'
import { actorOf, entryOfCall, setActor } from './actor.ts'
import { auditRefusal } from './refusal-audit.ts'

export interface PresentedCall {
  readonly header: Headers
  readonly clientAddress: string
  readonly values: ContextValues
}

/** Finds out who is calling. @throws {DomainError} if that is not proved. */
export type Authenticate = (call: PresentedCall) => Promise<AuthenticatedCaller>

/** Authenticates by the token in the `Authorization` header, with the proof of the key that it is bound to. */
export function byToken(access: Pick<Access, 'authenticate'>, requestContext: RequestContext): Authenticate {
  return ({ header, clientAddress, values }) => {
    const request = requestOf(values)
    return access.authenticate(header.get('authorization'), clientAddress, {
      method: request.method ?? '',
      // In the normal form of URLs, without the query.
      path: new URL(`http://localhost${request.url}`).pathname,
      proof: header.get('dpop'),
      certificate: () => requestContext.certificateOf(request),
    })
  }
}

export interface GateOptions extends TranslationOptions {
  readonly authenticate: Authenticate
  readonly access: Pick<Access, 'authorize' | 'assertStorageReachable'>
  /** Throws {DomainError} `primary_region` if nothing can be changed here. */
  readonly assertPrimary: () => void
  readonly audit: Pick<AuditTrail, 'refuse'>
  readonly servesDeprecated: boolean
}

/**
 * A gate that checks the caller's proof and permission before the body of the request is read, so that an unauthenticated request causes
 * no work and does not reveal what a valid one is. The call has an actor from then on.
 */
export function authorize(options: GateOptions): (context: HandlerContext) => Promise<void> {
  const { authenticate, access, assertPrimary, audit, servesDeprecated, requestContext } = options
  return async ({ requestHeader, responseHeader, method, values }) => {
    const clientAddress = requestContext.addressOf(requestOf(values))
    let entry = { ...entryOfCall(ANONYMOUS, method, requestHeader), clientAddress }
    const successor = successorOf(method.parent)
    if (successor !== undefined && !servesDeprecated) {
      // The answer is the same for every caller, so it needs no authentication.
      throw translated(switchedOff(successor), requestHeader, values, options)
    }
    try {
      const caller = await authenticate({ header: requestHeader, clientAddress, values })
      const { userId } = caller.user
      if (caller.nextNonce !== null) responseHeader.set('dpop-nonce', caller.nextNonce)
      entry = { ...entry, actor: userId }
      requestContext.identified(requestOf(values), userId)
      const permission = permissionOf(method)
      const authority = await access.authorize(caller, permission)
      // Every method needs the database. Only authorized callers learn whether it can be reached.
      access.assertStorageReachable()
      if (!isReading(permission)) assertPrimary()
      setActor(values, { ...entry, authority })
    } catch (error) {
      auditRefusal(audit, entry, error)
      throw translated(error, requestHeader, values, options)
    }
  }
}

/** Whether methods with this permission change nothing. Signing in is allowed to those who may read, and opens a session. */
function isReading(permission: Permission): boolean {
  return permission.endsWith('.read') && permission !== 'iam.console.read'
}

function switchedOff({ typeName: successor }: DescService): DomainError {
  return new DomainError('service_switched_off', `this service is switched off: call ${successor} instead`, {
    metadata: { successor },
  })
}

/**
 * Refuses calls whose right was lost after the gate, before the rules for the fields of a request are applied: a client can take
 * half a minute to send the body. A body that is too long, does not decode or has a NUL in a text has been refused by then. A stream is
 * refused before each of its messages, in both directions: it ends when the right is lost, with its next message at the latest.
 */
export function reauthorize(access: Pick<Access, 'reauthorize'>): Interceptor {
  return (next) => async (req) => {
    const authorized = async <Message>(message: Message): Promise<Message> => {
      const actor = actorOf({ values: req.contextValues })
      setActor(req.contextValues, { ...actor, authority: await access.reauthorize(actor.authority) })
      return message
    }
    if (!req.stream) return next(await authorized(req))
    const response = await next({ ...req, message: mapStream(req.message, authorized) })
    if (!response.stream) return response
    return { ...response, message: mapStream(response.message, authorized) }
  }
}

/** The permission of a method, which is an option in the proto. @throws {Error} if it names none, or an unknown one. */
export function permissionOf(method: DescMethod): Permission {
  const permission = getOption(method, required_permission)
  if (!isPermission(permission)) {
    throw new Error(
      `${method.parent.typeName}.${method.name} must name a permission in (iam.auth.v1.required_permission), ` +
        `and ${JSON.stringify(permission)} is none`,
    )
  }
  return permission
}
