/**
 * Lets a call through only if its caller has the method's permission.
 */
import type { HandlerContext } from '@connectrpc/connect'
import type { Access } from '../app/access.ts'
import type { Log } from '../domain/ports.ts'
import { toConnectError } from './errors.ts'
import type { permissionsOf } from './method-permissions.ts'

/**
 * A gate that checks bearer token and permission before anything of the request's body is read, so that strangers
 * neither cause work nor learn what a valid request is.
 */
export function authorize(
  access: Access,
  permissionFor: ReturnType<typeof permissionsOf>,
  log: Log,
): (context: HandlerContext) => Promise<void> {
  return async ({ requestHeader, method }) => {
    try {
      await access.authorize(requestHeader.get('authorization'), permissionFor(method))
    } catch (error) {
      throw toConnectError(error, requestHeader, log)
    }
  }
}
