/**
 * References to resources in arguments: a project by its name or id, a user by its id or client ID.
 */
import type { Transport } from '@connectrpc/connect'
import { Argument, InvalidArgumentError } from 'commander'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import { splitClientId } from '../../domain/identities/client-id.ts'
import { isUuid } from '../../domain/uuid.ts'
import { itemsOf } from '../pages.ts'
import { createClient } from '../unary-client.ts'

/** The argument for a user. Its value is the user id. */
export function userArgument(): Argument {
  return new Argument('<user>', 'user id or client ID').argParser(parseUser)
}

/** The user id in a user id or client ID. The project in a client ID is ignored: it may have been renamed. */
function parseUser(text: string): string {
  const userId = isUuid(text.toLowerCase()) ? text.toLowerCase() : splitClientId(text)?.userId
  if (userId === undefined) {
    throw new InvalidArgumentError('Name a user by its user id or client ID; "keyturn users list" prints them.')
  }
  return userId
}

/**
 * The id of a project, from its name or id.
 *
 * @throws {Error} if no project has the name. An id is not checked: the call that uses it refuses an unknown one.
 */
export async function resolveProject(api: Transport, project: string): Promise<string> {
  if (isUuid(project.toLowerCase())) return project.toLowerCase()
  const client = createClient(ProjectService, api)
  const projects = itemsOf(
    (page) => client.listProjects(page),
    (response) => response.projects,
  )
  for await (const { projectId, name } of projects) {
    if (name === project) return projectId
  }
  throw new Error(`there is no project ${JSON.stringify(project)}: "keyturn projects list" prints those that exist`)
}
