/**
 * References to resources in arguments: by name or id, and a user by its id, its client ID, its name or `name@project`.
 */
import type { DescMessage, DescMethodUnary, MessageShape } from '@bufbuild/protobuf'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { isUuid } from '../../domain/identifiers.ts'
import { splitClientId } from '../../domain/identities/client-id.ts'
import type { Api, ItemOf } from '../api.ts'
import type { Parameter } from '../commands.ts'

interface Named<Item> {
  readonly nameAndId: (item: Item) => readonly [name: string, id: string]
  readonly lister: string
}

/** An argument that names a resource, which a command of the name lists. An id is not checked: the call that uses it refuses an unknown one. */
export function named<Input extends DescMessage, Output extends DescMessage, Items extends keyof MessageShape<Output>>(
  kind: string,
  [method, items]: readonly [DescMethodUnary<Input, Output>, Items],
  { nameAndId, lister }: Named<ItemOf<MessageShape<Output>[Items]>>,
) {
  return {
    placeholder: kind.slice(kind.lastIndexOf(' ') + 1),
    description: 'name or id',
    async resolve(text: string, api: Api): Promise<string> {
      if (isUuid(text.toLowerCase())) return text.toLowerCase()
      for await (const item of api.items(method, items)) {
        const [name, id] = nameAndId(item)
        if (name === text) return id
      }
      throw new Error(`there is no ${kind} ${JSON.stringify(text)}: "keyturn ${lister}" prints those that exist`)
    },
  } satisfies Parameter
}

export const PROJECT = named('project', [ProjectService.method.listProjects, 'projects'], {
  nameAndId: ({ name, projectId }) => [name, projectId],
  lister: 'projects list',
})

export const USER = {
  placeholder: 'user',
  description: 'user id, client ID, name or name@project',
  resolve: resolveUser,
} satisfies Parameter

/**
 * The id of a user. The project in a client ID is ignored: it may have been renamed.
 *
 * @throws {Error} if no user has the name, or several have. An id is not checked: the call that uses it refuses an unknown one.
 */
export async function resolveUser(text: string, api: Api): Promise<string> {
  const userId = isUuid(text.toLowerCase()) ? text.toLowerCase() : splitClientId(text)?.userId
  if (userId !== undefined) return userId
  // The name of a project has no @, that of a user may have some.
  const [, name = text, project] = /^(.+)@([^@]+)$/s.exec(text) ?? []
  const projectId = project === undefined ? '' : await PROJECT.resolve(project, api)
  const request = { projectId, search: name }
  const found = await api.all(ServiceUserService.method.listServiceUsers, 'serviceUsers', request)
  const fitting = found.filter((each) => each.name === name)
  const [user, ...others] = fitting
  if (user !== undefined && others.length === 0) return user.userId
  const where = project === undefined ? '' : ` in the project ${project}`
  const ids = fitting.map(({ clientId }) => clientId)
  throw new Error(
    user === undefined
      ? `there is no service user ${JSON.stringify(name)}${where}: "keyturn users list" prints those that exist`
      : `${ids.length} service users${where} have the name ${JSON.stringify(name)}: use the client ID, ${ids.join(' or ')}`,
  )
}
