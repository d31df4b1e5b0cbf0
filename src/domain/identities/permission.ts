/**
 * Who may do what: permissions (Spec §5) and the instance roles that include them.
 */

const READING = [
  'iam.web_key.read',
  'iam.project.read',
  'iam.user.read',
  'iam.trusted_issuer.read',
  'iam.audit.read',
  'iam.token.read',
  'iam.instance.read',
  // Signing in, to see what else a role lets one see.
  'iam.console.read',
  'iam.session.read',
] as const

/** Everything that a method can require. */
export const PERMISSIONS = [
  ...READING,
  'iam.web_key.write',
  'iam.web_key.delete',
  'iam.project.write',
  'iam.project.delete',
  'iam.user.write',
  'iam.user.delete',
  'iam.user.credential.write',
  'iam.trusted_issuer.write',
  'iam.trusted_issuer.delete',
  'iam.session.delete',
  'iam.webhook.read',
  'iam.webhook.write',
  'iam.webhook.delete',
] as const

/** Allows one kind of call (Spec §5). */
export type Permission = (typeof PERMISSIONS)[number]

const INSTANCE_ROLES = {
  IAM_OWNER: new Set<Permission>(PERMISSIONS),
  IAM_OWNER_VIEWER: new Set<Permission>(READING),
} as const

/** A role over the whole instance. `IAM_OWNER` may do everything, `IAM_OWNER_VIEWER` may read. */
export type InstanceRole = keyof typeof INSTANCE_ROLES

/** Whether any of the roles includes the permission. */
export function allows(roles: readonly InstanceRole[], permission: Permission): boolean {
  return roles.some((role) => INSTANCE_ROLES[role].has(permission))
}

/** Whether a text from outside, such as a proto option, is a permission. */
export function isPermission(text: string): text is Permission {
  return (PERMISSIONS as readonly string[]).includes(text)
}

/** Reads a role from outside, such as a database. @throws {Error} if it is not a role. */
export function parseInstanceRole(text: string): InstanceRole {
  if (!Object.hasOwn(INSTANCE_ROLES, text)) throw new Error(`unknown instance role ${JSON.stringify(text)}`)
  return text as InstanceRole
}
