/**
 * The names of the projects by their ids.
 */
import type { CallOptions } from '@connectrpc/connect'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { everyItemOf, projects } from '../api/clients.ts'

/** All projects, by name. */
export function allProjects(options: CallOptions): Promise<Project[]> {
  return everyItemOf('projects', (page) => projects.listProjects(page, options))
}

/** The name of a project; its id if it is not known. */
export function nameOfProject(all: readonly Project[], projectId: string): string {
  return all.find((project) => project.projectId === projectId)?.name ?? projectId
}
