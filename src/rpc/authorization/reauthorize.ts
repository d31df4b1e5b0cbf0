/**
 * Checks the right to a call again once its request has come whole.
 *
 * The gate of `authorize.ts` decides when the headers are there. A client can take half a minute to send the rest, and
 * its right may be gone by then. Changes check it once more, under their lock.
 */
import type { Interceptor } from '@connectrpc/connect'
import type { Access } from '../../app/access/access.ts'
import { actorOf } from './actor.ts'

/**
 * Refuses calls whose right has been lost since the gate, before the rules for the fields of a request are applied. A body
 * that is too long, does not decode or has a NUL in a text has been answered by then, to a caller whose right the gate has seen.
 */
export function reauthorize(access: Pick<Access, 'assertStillAuthorized'>): Interceptor {
  return (next) => async (req) => {
    // The messages of a stream would come after this. Every method is unary today.
    if (req.stream) throw new Error(`${req.method.name} streams, and its rights would not be checked after the gate`)
    await access.assertStillAuthorized(actorOf({ values: req.contextValues }).authority)
    return next(req)
  }
}
