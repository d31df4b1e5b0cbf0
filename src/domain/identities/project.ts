/**
 * A group of services that trust the same tokens, with the roles and custom scopes that are configured for it.
 *
 * Grants of roles and scopes are in `service-user.ts`. The store checks that names are unique, and that a project with users is not
 * deleted.
 */
import { DomainError } from '../errors.ts'
import { isStandardScope } from './token-grant.ts'

/** The greatest number of roles, and of custom scopes, of a project. */
const MAX_ROLES_OR_SCOPES = 1000

/** Keyturn's own scopes, and those of ZITADEL that mean the same where its clients are served. */
const RESERVED_SCOPES = ['urn:service:iam:', 'urn:zitadel:iam:']

export interface Project {
  readonly projectId: string
  /** Unique in the instance; see `client-id.ts` for its form. */
  readonly name: string
  readonly createdAt: Date
  /** Ordered by name, without repetition. */
  readonly roles: readonly string[]
  /** Custom scopes, ordered by name, without repetition. */
  readonly scopes: readonly string[]
}

/** A new project without roles and scopes. */
export function createProject(projectId: string, name: string, at: Date): Project {
  return { projectId, name, createdAt: at, roles: [], scopes: [] }
}

/** The project, if there is one. @throws {DomainError} `project_not_found`. */
export function existingProject(project: Project | undefined, projectId: string): Project {
  if (project === undefined) {
    throw new DomainError('project_not_found', `there is no project ${JSON.stringify(projectId)}`, {
      metadata: { project_id: projectId },
    })
  }
  return project
}

/** Adding a role that is there changes nothing. @throws {DomainError} `project_limit_reached`. */
export function addRole(project: Project, role: string): Project {
  const roles = withName(project.roles, role)
  return roles === project.roles ? project : { ...project, roles }
}

/** @throws {DomainError} `project_role_not_found`. */
export function removeRole(project: Project, role: string): Project {
  if (!project.roles.includes(role)) {
    throw new DomainError('project_role_not_found', `the project has no role ${JSON.stringify(role)}`)
  }
  return { ...project, roles: project.roles.filter((name) => name !== role) }
}

/**
 * Adding a scope that is there changes nothing.
 *
 * @throws {DomainError} `scope_reserved` for a scope that Keyturn gives a meaning to; `project_limit_reached`.
 */
export function addScope(project: Project, scope: string): Project {
  if (isStandardScope(scope) || RESERVED_SCOPES.some((prefix) => scope.startsWith(prefix))) {
    throw new DomainError('scope_reserved', `the scope ${JSON.stringify(scope)} has a meaning already: choose another`)
  }
  const scopes = withName(project.scopes, scope)
  return scopes === project.scopes ? project : { ...project, scopes }
}

/** @throws {DomainError} `project_scope_not_found`. */
export function removeScope(project: Project, scope: string): Project {
  if (!project.scopes.includes(scope)) {
    throw new DomainError('project_scope_not_found', `the project has no scope ${JSON.stringify(scope)}`)
  }
  return { ...project, scopes: project.scopes.filter((name) => name !== scope) }
}

function withName(names: readonly string[], name: string): readonly string[] {
  if (names.includes(name)) return names
  if (names.length >= MAX_ROLES_OR_SCOPES) {
    throw new DomainError('project_limit_reached', `a project has at most ${MAX_ROLES_OR_SCOPES} of them`)
  }
  return [...names, name].sort()
}
