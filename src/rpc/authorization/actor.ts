/**
 * Who makes a call, and by what right, from the gate that finds out to the handlers that need to know.
 */
import type { DescMethod } from '@bufbuild/protobuf'
import { type ContextValues, createContextKey } from '@connectrpc/connect'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Actor } from '../../domain/identities/authority.ts'

/** Header with the id that the front door gives each request. */
const REQUEST_ID_HEADER = 'x-request-id'

const ACTOR = createContextKey<Actor | undefined>(undefined, { description: 'the caller, once it is known' })

/** A call by this caller, as the audit trail names it before its request has been read. */
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

/** The id of the request, as in its response header and in the log. */
export function requestIdOf(header: Headers): string {
  return header.get(REQUEST_ID_HEADER) ?? 'unknown'
}
