/**
 * The use cases of projects, their roles, custom scopes and audiences.
 *
 * Each change is visible on this replica when the call returns, and is an event of the audit trail.
 */

import { projectResource } from '../../domain/audit-resources.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import {
  addPart,
  createProject,
  existingProject,
  type Project,
  type ProjectMember,
  type ProjectPart,
  removePart,
} from '../../domain/identities/project.ts'
import { visibleProject } from '../../domain/identities/reach.ts'
import type { Change, IdentityStore, Page } from '../../domain/ports/identities.ts'
import type { Replica } from '../replica/replica.ts'

export interface ProjectsOptions {
  readonly store: IdentityStore
  readonly replica: Pick<Replica, 'inForce'>
  readonly newId: () => string
  readonly issuer: string
}

export type Projects = ReturnType<typeof createProjects>

/**
 * Every method throws {DomainError} `storage_unavailable`, and `project_not_found` if it takes the id of a project that the caller cannot see;
 * what changes something also `change_outcome_unknown` and `change_not_in_force`.
 */
export function createProjects({ store, replica, newId, issuer }: ProjectsOptions) {
  const get = async ({ authority }: Actor, projectId: string): Promise<Project> =>
    existingProject(visibleProject(authority.reach, await store.findProject(projectId)), projectId)

  const change = <T>(
    actor: Actor,
    projectId: string,
    part: readonly string[],
    decide: (project: Project | undefined, now: Date) => Change<Project, T>,
  ): Promise<T> => {
    const entry = { ...actor, resource: projectResource(projectId, ...part) }
    return replica.inForce(store.changeProject(projectId, entry, decide))
  }

  const changeExisting = (
    actor: Actor,
    projectId: string,
    part: readonly string[],
    next: (project: Project) => Project,
  ): Promise<Project> =>
    change(actor, projectId, part, (project) => becoming(next(existingProject(project, projectId))))

  return {
    get,

    /** @throws {DomainError} `project_name_taken`. */
    create(actor: Actor, name: string): Promise<Project> {
      const projectId = newId()
      return change(actor, projectId, [], (_none, now) => becoming(createProject(projectId, name, now)))
    },

    list: ({ authority }: Actor, page: Page<string>): Promise<readonly Project[]> =>
      store.listProjects(page, authority.reach),

    /** The users with a role over the project in the API, ordered by user id. */
    async listMembers(actor: Actor, projectId: string, page: Page<string>): Promise<readonly ProjectMember[]> {
      await get(actor, projectId)
      return store.listMembers(projectId, page)
    },

    /** @throws {DomainError} `project_name_taken`. */
    update: (actor: Actor, projectId: string, changes: Partial<Pick<Project, 'name' | 'rolesClaim'>>) =>
      changeExisting(actor, projectId, [], (project) => {
        const next = { ...project, ...changes }
        return next.name === project.name && next.rolesClaim === project.rolesClaim ? project : next
      }),

    /** @throws {DomainError} `project_has_users`. */
    delete: (actor: Actor, projectId: string): Promise<void> =>
      change(actor, projectId, [], (project) => {
        existingProject(project, projectId)
        return { next: null, result: undefined }
      }),

    /** @throws {DomainError} what `addPart` throws; `project_audience_taken`. */
    add: (actor: Actor, projectId: string, part: ProjectPart) =>
      changeExisting(actor, projectId, [part.list, part.name], (project) => addPart(project, part, issuer)),

    /** @throws {DomainError} what `removePart` throws. */
    remove: (actor: Actor, projectId: string, part: ProjectPart) =>
      changeExisting(actor, projectId, [part.list, part.name], (project) => removePart(project, part)),
  }
}

/** The result is what is stored. */
function becoming(project: Project): Change<Project, Project> {
  return { next: project, result: project }
}
