/** Who may do what: permissions (Spec §5), and the roles that include them. How far they reach is in `reach.ts`. */

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
  // Exporting and planning: what a configuration would change.
  'iam.config.read',
] as const

export const PERMISSIONS = [
  ...READING,
  'iam.web_key.write',
  'iam.web_key.delete',
  'iam.project.write',
  'iam.project.delete',
  'iam.project.role.write',
  'iam.project.scope.write',
  'iam.project.audience.write',
  'iam.project.member.write',
  'iam.user.write',
  'iam.user.delete',
  'iam.user.credential.write',
  'iam.user.secret.write',
  'iam.instance_role.write',
  'iam.trusted_issuer.write',
  'iam.trusted_issuer.delete',
  'iam.session.delete',
  'iam.webhook.read',
  'iam.webhook.write',
  'iam.webhook.delete',
  // Bringing the whole instance to what a configuration says.
  'iam.config.write',
] as const

export type Permission = (typeof PERMISSIONS)[number]

const USERS = [
  'iam.user.read',
  'iam.user.write',
  'iam.user.delete',
  'iam.user.credential.write',
  'iam.user.secret.write',
] as const satisfies readonly Permission[]

/** What a project is about for those who own it. Its name and audiences are not: they are unique in the instance. */
const PROJECT_CONTENT = [
  'iam.project.read',
  'iam.project.role.write',
  'iam.project.scope.write',
  'iam.project.member.write',
] as const satisfies readonly Permission[]

const CONSOLE = ['iam.instance.read', 'iam.console.read'] as const satisfies readonly Permission[]

const INSTANCE_ROLES = {
  IAM_OWNER: new Set<Permission>(PERMISSIONS),
  IAM_OWNER_VIEWER: new Set<Permission>(READING),
  IAM_KEY_OPERATOR: new Set<Permission>(['iam.web_key.read', 'iam.web_key.write', 'iam.web_key.delete', ...CONSOLE]),
  IAM_AUDITOR: new Set<Permission>(['iam.audit.read', ...CONSOLE]),
  IAM_USER_ADMINISTRATOR: new Set<Permission>([
    ...PROJECT_CONTENT,
    'iam.project.write',
    'iam.project.delete',
    'iam.project.audience.write',
    ...USERS,
    'iam.trusted_issuer.read',
    ...CONSOLE,
  ]),
} as const

const PROJECT_MEMBER_ROLES = {
  PROJECT_OWNER: new Set<Permission>([...PROJECT_CONTENT, ...USERS, 'iam.console.read']),
  PROJECT_OWNER_VIEWER: new Set<Permission>(['iam.project.read', 'iam.user.read', 'iam.console.read']),
} as const

const OVER_ITSELF: ReadonlySet<Permission> = new Set(['iam.user.read', 'iam.user.secret.write'])

/** A role over the whole instance. `IAM_OWNER` may do everything, `IAM_OWNER_VIEWER` may read; the others are about one duty each. */
export type InstanceRole = keyof typeof INSTANCE_ROLES

export const INSTANCE_ROLE_NAMES = Object.keys(INSTANCE_ROLES) as readonly InstanceRole[]

/** A role over one project in the API. It is no role of the project, which tokens carry. */
export type ProjectMemberRole = keyof typeof PROJECT_MEMBER_ROLES

export const PROJECT_MEMBER_ROLE_NAMES = Object.keys(PROJECT_MEMBER_ROLES) as readonly ProjectMemberRole[]

export function allows(roles: readonly InstanceRole[], permission: Permission): boolean {
  return roles.some((role) => INSTANCE_ROLES[role].has(permission))
}

export function allowsInProject(role: ProjectMemberRole, permission: Permission): boolean {
  return PROJECT_MEMBER_ROLES[role].has(permission)
}

/** Whether every user has the permission over itself, with or without a role. */
export function allowsOverItself(permission: Permission): boolean {
  return OVER_ITSELF.has(permission)
}

export function isPermission(text: string): text is Permission {
  return (PERMISSIONS as readonly string[]).includes(text)
}

/** Reads a role from outside, such as a database. @throws {Error} if it is not a role. */
export function parseInstanceRole(text: string): InstanceRole {
  if (!Object.hasOwn(INSTANCE_ROLES, text)) throw new Error(`unknown instance role ${JSON.stringify(text)}`)
  return text as InstanceRole
}

/** Reads a role over a project from outside. @throws {Error} if it is not one. */
export function parseProjectMemberRole(text: string): ProjectMemberRole {
  if (!Object.hasOwn(PROJECT_MEMBER_ROLES, text)) throw new Error(`unknown role over a project ${JSON.stringify(text)}`)
  return text as ProjectMemberRole
}
