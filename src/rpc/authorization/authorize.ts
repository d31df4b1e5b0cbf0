/**
 * Lets a call through only if its caller has the method's permission. That this still holds when the request has come
 * whole is for `reauthorize.ts` to see.
 */
import type { DescService } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import type { Access } from '../../app/access/access.ts'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import { ANONYMOUS } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Log } from '../../domain/ports.ts'
import { toConnectError } from '../messages/errors.ts'
import type { CallContexts } from '../protocol/call-context.ts'
import { successorOf } from '../protocol/deprecation.ts'
import { entryOfCall, setActor } from './actor.ts'
import type { permissionsOf } from './method-permissions.ts'
import { writeDownRefusal } from './refusal-audit.ts'

/** What the gate needs. */
export interface GateOptions {
  readonly access: Access
  readonly audit: Pick<AuditTrail, 'refuse'>
  readonly permissionFor: ReturnType<typeof permissionsOf>
  /** Whether deprecated services are served. */
  readonly servesDeprecated: boolean
  readonly notes: CallContexts
  readonly log: Log
}

/**
 * A gate that checks bearer token and permission before anything of the request's body is read, so that strangers
 * neither cause work nor learn what a valid request is. The call has an actor from then on.
 */
export function authorize({
  access,
  audit,
  permissionFor,
  servesDeprecated,
  notes,
  log,
}: GateOptions): (context: HandlerContext) => Promise<void> {
  return async ({ requestHeader, method, values }) => {
    const { address: clientAddress } = notes.originOf(values)
    let entry = { ...entryOfCall(ANONYMOUS, method, requestHeader), clientAddress }
    const successor = successorOf(method.parent)
    if (successor !== undefined && !servesDeprecated) {
      // Nobody is asked who they are for that.
      const refusal = toConnectError(switchedOff(successor), requestHeader, log)
      notes.refused(values, refusal)
      throw refusal
    }
    try {
      const caller = await access.authenticate(requestHeader.get('authorization'), clientAddress)
      const { userId } = caller.user
      entry = { ...entry, actor: userId }
      notes.identified(values, userId)
      const authority = await access.authorize(caller, permissionFor(method))
      // Every method needs the database. Whether it is there is told to nobody who may not call.
      access.assertStorageReachable()
      setActor(values, { ...entry, authority })
    } catch (error) {
      writeDownRefusal(audit, entry, error)
      const refusal = toConnectError(error, requestHeader, log)
      notes.refused(values, refusal)
      throw refusal
    }
  }
}

function switchedOff({ typeName: successor }: DescService): DomainError {
  return new DomainError('service_switched_off', `this service is switched off: call ${successor} instead`, {
    metadata: { successor },
  })
}
