/**
 * The permission that each method requires, read from its option in the proto.
 */
import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf'
import { required_permission } from '../../../gen/iam/auth/v1/permission_pb.js'
import { isPermission, type Permission } from '../../domain/identities/permission.ts'

/**
 * Looks up the permission of a method of these services.
 *
 * @throws {Error} at once if a method of the services names no permission or an unknown one, so that the server does
 * not start with a method that everybody may call.
 */
export function permissionsOf(services: readonly DescService[]): (method: DescMethod) => Permission {
  const permissions = new Map(
    services.flatMap((service) => service.methods.map((method) => [method, permissionOf(method)] as const)),
  )
  return (method) => {
    const permission = permissions.get(method)
    if (permission === undefined) throw new Error(`${method.parent.typeName}.${method.name} has no permission`)
    return permission
  }
}

function permissionOf(method: DescMethod): Permission {
  const permission = getOption(method, required_permission)
  if (!isPermission(permission)) {
    throw new Error(
      `${method.parent.typeName}.${method.name} must name a permission in (iam.auth.v1.required_permission), ` +
        `and ${JSON.stringify(permission)} is none`,
    )
  }
  return permission
}
