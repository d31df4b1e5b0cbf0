/**
 * A group of services that trust the same tokens. The store checks that names and audiences are unique, and that a project with users is not deleted.
 */
import { DomainError } from '../errors.ts'
import { isSameName } from '../identifiers.ts'
import type { ProjectMemberRole } from './permission.ts'
import { isStandardScope } from './token-grant.ts'

const MAX_ROLES_OR_SCOPES = 1000

/** The greatest number of audiences of a project: each service user that may ask for them has all of them in memory. */
const MAX_AUDIENCES = 20

/** Keyturn's own scopes, and those of ZITADEL that mean the same where its clients are served. */
const RESERVED_SCOPES = ['urn:service:iam:', 'urn:zitadel:iam:']

export interface Project {
  readonly projectId: string
  /** Unique in the instance; see `client-id.ts` for its form. */
  readonly name: string
  /** Whether tokens for this project alone have the roles of the user in it as `roles` too (RFC 9068 §2.2.3.1). */
  readonly rolesClaim: boolean
  readonly createdAt: Date
  /** Ordered by name, without repetition. */
  readonly roles: readonly string[]
  /** Custom scopes, ordered by name, without repetition. */
  readonly scopes: readonly string[]
  /** Absolute URIs that the services of the project know themselves by, in order, without repetition. */
  readonly audiences: readonly string[]
}

export interface ProjectMember {
  readonly userId: string
  readonly name: string
  readonly role: ProjectMemberRole
}

export function createProject(projectId: string, name: string, at: Date): Project {
  return { projectId, name, rolesClaim: false, createdAt: at, roles: [], scopes: [], audiences: [] }
}

/** The project, if there is one. @throws {DomainError} `project_not_found`. */
export function existingProject(project: Project | undefined, projectId: string): Project {
  if (project === undefined) throw projectNotFound(projectId)
  return project
}

export function projectNotFound(projectId: string): DomainError {
  return new DomainError('project_not_found', `there is no project ${JSON.stringify(projectId)}`, {
    metadata: { project_id: projectId },
  })
}

/** The refusal to grant a role of a project that has no such role, or of one that does not exist. */
export function roleNotFound(): DomainError {
  return new DomainError('project_role_not_found', 'the project has no such role')
}

/** Adding a role that is there changes nothing. @throws {DomainError} `project_limit_reached`. */
export function addRole(project: Project, role: string): Project {
  const roles = withName(project.roles, role, MAX_ROLES_OR_SCOPES)
  return roles === project.roles ? project : { ...project, roles }
}

/** @throws {DomainError} `project_role_not_found`. */
export function removeRole(project: Project, role: string): Project {
  if (!project.roles.includes(role)) {
    throw new DomainError('project_role_not_found', `the project has no role ${JSON.stringify(role)}`)
  }
  return { ...project, roles: project.roles.filter((name) => name !== role) }
}

/** @throws {DomainError} `scope_reserved` for a scope that Keyturn gives a meaning to; `project_limit_reached`. */
export function addScope(project: Project, scope: string): Project {
  if (isStandardScope(scope) || RESERVED_SCOPES.some((prefix) => scope.startsWith(prefix))) {
    throw new DomainError('scope_reserved', `the scope ${JSON.stringify(scope)} has a meaning already: choose another`)
  }
  const scopes = withName(project.scopes, scope, MAX_ROLES_OR_SCOPES)
  return scopes === project.scopes ? project : { ...project, scopes }
}

/** @throws {DomainError} `project_scope_not_found`. */
export function removeScope(project: Project, scope: string): Project {
  if (!project.scopes.includes(scope)) {
    throw new DomainError('project_scope_not_found', `the project has no scope ${JSON.stringify(scope)}`)
  }
  return { ...project, scopes: project.scopes.filter((name) => name !== scope) }
}

/**
 * @param audience As `normalUri` spells it.
 * @throws {DomainError} `audience_reserved` for the issuer, also in another spelling; `project_limit_reached`.
 */
export function addAudience(project: Project, audience: string, issuer: string): Project {
  if (isSameName(audience, issuer)) {
    throw new DomainError('audience_reserved', 'that is the audience of Keyturn itself: choose another')
  }
  const audiences = withName(project.audiences, audience, MAX_AUDIENCES)
  return audiences === project.audiences ? project : { ...project, audiences }
}

/** @throws {DomainError} `project_audience_not_found`. */
export function removeAudience(project: Project, audience: string): Project {
  if (!project.audiences.includes(audience)) {
    throw new DomainError('project_audience_not_found', `the project has no audience ${JSON.stringify(audience)}`)
  }
  return { ...project, audiences: project.audiences.filter((name) => name !== audience) }
}

function withName(names: readonly string[], name: string, max: number): readonly string[] {
  if (names.includes(name)) return names
  if (names.length >= max) throw new DomainError('project_limit_reached', `a project has at most ${max} of them`)
  return [...names, name].sort()
}
