/**
 * A group of services that trust the same tokens. The store checks that names and audiences are unique, and that a project with users is not deleted.
 */
import { DomainError, type DomainErrorCode } from '../errors.ts'
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

/** A text of one of the sets that a project consists of. An audience is spelled as by `normalUri`. */
export interface ProjectPart {
  readonly list: 'roles' | 'scopes' | 'audiences'
  readonly name: string
}

const LISTS: Readonly<
  Record<ProjectPart['list'], { readonly one: string; readonly max: number; readonly notFound: DomainErrorCode }>
> = {
  roles: { one: 'role', max: MAX_ROLES_OR_SCOPES, notFound: 'project_role_not_found' },
  scopes: { one: 'scope', max: MAX_ROLES_OR_SCOPES, notFound: 'project_scope_not_found' },
  audiences: { one: 'audience', max: MAX_AUDIENCES, notFound: 'project_audience_not_found' },
}

/**
 * Adding what is there changes nothing.
 *
 * @throws {DomainError} `scope_reserved` for a scope that Keyturn gives a meaning to; `audience_reserved` for the issuer, also in another
 * spelling; `project_limit_reached`.
 */
export function addPart(project: Project, { list, name }: ProjectPart, issuer: string): Project {
  const isReservedScope = isStandardScope(name) || RESERVED_SCOPES.some((prefix) => name.startsWith(prefix))
  if (list === 'scopes' && isReservedScope) {
    throw new DomainError('scope_reserved', `the scope ${JSON.stringify(name)} has a meaning already: choose another`)
  }
  if (list === 'audiences' && isSameName(name, issuer)) {
    throw new DomainError('audience_reserved', 'that is the audience of Keyturn itself: choose another')
  }
  const names = project[list]
  const { max } = LISTS[list]
  if (names.includes(name)) return project
  if (names.length >= max) throw new DomainError('project_limit_reached', `a project has at most ${max} of them`)
  return { ...project, [list]: [...names, name].sort() }
}

/** @throws {DomainError} `project_role_not_found`, `project_scope_not_found`, `project_audience_not_found`. */
export function removePart(project: Project, { list, name }: ProjectPart): Project {
  const { one, notFound } = LISTS[list]
  if (!project[list].includes(name))
    throw new DomainError(notFound, `the project has no ${one} ${JSON.stringify(name)}`)
  return { ...project, [list]: project[list].filter((other) => other !== name) }
}
