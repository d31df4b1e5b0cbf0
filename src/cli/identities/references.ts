/**
 * References to resources in arguments: a project by its name or id, a user by its id, its client ID or `name@project`.
 */
import { createClient, type Transport } from '@connectrpc/connect'
import { InvalidArgumentError } from 'commander'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { splitClientId } from '../../domain/identities/client-id.ts'
import { isUuid } from '../../domain/uuid.ts'
import type { Parameter } from '../api-command.ts'
import { everyItemOf, itemsOf } from '../pages.ts'

/** A user as an argument names it. */
export type UserReference =
  | { readonly kind: 'id'; readonly userId: string }
  | { readonly kind: 'name'; readonly name: string; readonly project?: string }

/** The argument for a user. */
export const USER = {
  placeholder: 'user',
  description: 'user id, client ID or name@project',
  check: userIn,
  resolve: (text: string, api: Transport) => resolveUser(api, userIn(text)),
} satisfies Parameter

/** The argument for a project. */
export const PROJECT = {
  placeholder: 'project',
  description: 'name or id',
  resolve: (text: string, api: Transport) => resolveProject(api, text),
} satisfies Parameter

/** @throws {InvalidArgumentError} for a text that names no user. */
function userIn(text: string): UserReference {
  const reference = parseUser(text)
  if (reference !== undefined) return reference
  throw new InvalidArgumentError(
    'Name a user by its user id, its client ID or name@project; "keyturn users list" prints them.',
  )
}

/** Undefined for a text that names no user. The project in a client ID is ignored: it may have been renamed. */
export function parseUser(text: string): UserReference | undefined {
  const userId = isUuid(text.toLowerCase()) ? text.toLowerCase() : splitClientId(text)?.userId
  if (userId !== undefined) return { kind: 'id', userId }
  // The name of a project has no @, that of a user may have some.
  const at = text.lastIndexOf('@')
  const [name, project] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
  return name === '' || project === '' ? undefined : { kind: 'name', name, project }
}

/**
 * The id of a user.
 *
 * @throws {Error} if no user has the name, or several have. An id is not checked: the call that uses it refuses an unknown one.
 */
export async function resolveUser(api: Transport, reference: UserReference): Promise<string> {
  if (reference.kind === 'id') return reference.userId
  const { name, project } = reference
  const projectId = project === undefined ? '' : await resolveProject(api, project)
  const client = createClient(ServiceUserService, api)
  const found = await everyItemOf(
    (page) => client.listServiceUsers({ projectId, search: name, ...page }),
    (response) => response.serviceUsers,
  )
  const named = found.filter((user) => user.name === name)
  const [user] = named
  const quoted = JSON.stringify(name)
  if (user === undefined) {
    throw new Error(
      project === undefined
        ? `there is no service user ${quoted}: "keyturn users list --search ${name}" prints those that are like it`
        : `there is no service user ${quoted} in the project ${project}: "keyturn users list --project ${project}" prints those that exist`,
    )
  }
  if (named.length === 1) return user.userId
  const of = project === undefined ? '' : ` of the project ${project}`
  const ids = named.map(({ clientId }) => clientId).join(' or ')
  throw new Error(`${named.length} service users${of} have the name ${quoted}: use the client ID, ${ids}`)
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
