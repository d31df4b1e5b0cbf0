/** The caller of an RPC and its authority, passed from the gate to the handlers in the context values. */
import type { DescMethod } from '@bufbuild/protobuf'
import { type ContextValues, createContextKey } from '@connectrpc/connect'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import { requestIdOf } from '../messages/errors.ts'

const ACTOR = createContextKey<Actor | undefined>(undefined, { description: 'the authenticated caller' })

/** The audit entry of a call whose request has not been read. */
export function entryOfCall(caller: string, method: DescMethod, header: Headers): AuditEntry {
  const action = `${method.parent.typeName}/${method.name}`
  return { actor: caller, action, requestId: requestIdOf(header), resource: '' }
}

/** Keeps the actor with the call. */
export function setActor(values: ContextValues, actor: Actor): void {
  values.set(ACTOR, actor)
}

/** The actor of a call that the gate has let through. */
export function actorOf({ values }: { readonly values: ContextValues }): Actor {
  const actor = values.get(ACTOR)
  if (actor === undefined) throw new Error('the call has not passed the gate')
  return actor
}
