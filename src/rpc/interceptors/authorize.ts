/**
 * Lets a call through only if its caller has the method's permission.
 */
import type { Interceptor } from '@connectrpc/connect'
import type { Access } from '../../app/access.ts'
import type { permissionsOf } from '../method-permissions.ts'

/** Checks the bearer token and the permission before anything else looks at the request. */
export function authorize(access: Access, permissionFor: ReturnType<typeof permissionsOf>): Interceptor {
  return (next) => async (req) => {
    await access.authorize(req.header.get('authorization'), permissionFor(req.method))
    return next(req)
  }
}
