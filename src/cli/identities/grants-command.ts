/**
 * `keyturn users grant | revoke`: one role or scope of a user at a time.
 */
import type { DescMethodUnary } from '@bufbuild/protobuf'
import { toJson } from '@bufbuild/protobuf'
import { InvalidArgumentError } from 'commander'
import { InstanceRole } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { splitClientId } from '../../domain/identities/client-id.ts'
import { type Api, rewording } from '../api.ts'
import { command, type Declaration } from '../commands.ts'
import { alternatives, enumNames, option, UsageError } from '../options.ts'
import { printResult } from '../output.ts'
import { PROJECT, USER } from './references.ts'

interface RoleOfProject {
  readonly project: string
  readonly role: string
}

/** One change: the method with the fields besides the user, and what is granted or revoked in words. */
interface Change {
  readonly method: DescMethodUnary
  readonly fields: object
  readonly what: string
}

const { method: Methods } = ServiceUserService

export const grantCommand = changeCommand(
  'grant',
  'Grant a user a role or scope. Granting one that it has changes nothing.',
)

export const revokeCommand = changeCommand(
  'revoke',
  'Take a role or scope away from a user. Tokens that it has keep it.',
)

function changeCommand(direction: 'grant' | 'revoke', description: string): Declaration {
  const isGrant = direction === 'grant'
  return command(direction, {
    description,
    takes: { userId: USER },
    options: alternatives({
      role: option<RoleOfProject | undefined>('--role <project:role>', 'a role of any project').argParser(parseRole),
      scope: option('--scope <scope>', "a custom scope of the user's project"),
      instanceRole: option<keyof typeof InstanceRole | undefined>(
        '--instance-role <role>',
        'a role over the instance',
      ).choices(enumNames(InstanceRole)),
    }),
    check({ role, scope, instanceRole }) {
      if ((role ?? scope ?? instanceRole) === undefined)
        throw new UsageError(`say what to ${direction}: --role, --scope or --instance-role`)
    },
    async run({ userId }, { io, api, options }) {
      const { role, scope = '', instanceRole } = options
      const changeOf = async (): Promise<Change> => {
        if (role !== undefined) {
          const method = isGrant ? Methods.grantProjectRole : Methods.revokeProjectRole
          const fields = { projectId: await PROJECT.resolve(role.project, api), role: role.role }
          return { method, fields, what: `the role ${role.role} of ${role.project}` }
        }
        if (instanceRole === undefined) {
          const method = isGrant ? Methods.grantScope : Methods.revokeScope
          return { method, fields: { scope }, what: `the scope ${scope}` }
        }
        // The API sets all instance roles at once, so the others are read first. Concurrent changes may undo each other.
        const { serviceUser } = await api.call(Methods.getServiceUser, { userId })
        const wanted = InstanceRole[instanceRole]
        const others = (serviceUser?.instanceRoles ?? []).filter((other) => other !== wanted)
        const instanceRoles = isGrant ? [...others, wanted] : others
        return { method: Methods.setInstanceRoles, fields: { instanceRoles }, what: instanceRole }
      }
      const { method, fields, what } = await changeOf()
      // Says which names there are, if what is granted does not exist.
      const response = await rewording(api.call(method, { userId, ...fields }), async (reason, message) => {
        const isRole = reason === 'PROJECT_ROLE_NOT_FOUND'
        if (!isRole && reason !== 'PROJECT_SCOPE_NOT_FOUND') return undefined
        const project = role?.project ?? (await projectOf(api, userId))
        return `${message}: "keyturn projects ${isRole ? 'roles' : 'scopes'} list ${project}" prints those that exist`
      })
      await printResult(io, options, toJson(method.output, response), () => {
        const { clientId } = (response as { serviceUser?: { clientId: string } }).serviceUser ?? {}
        return isGrant ? `granted ${what} to ${clientId}` : `revoked ${what} from ${clientId}`
      })
    },
  })
}

async function projectOf(api: Api, userId: string): Promise<string> {
  const { serviceUser } = await api.call(Methods.getServiceUser, { userId })
  return splitClientId(serviceUser?.clientId ?? '')?.projectName ?? serviceUser?.projectId ?? ''
}

/** A project's name or id has no colon, a role may have some. */
function parseRole(text: string): RoleOfProject {
  const [, project, role] = /^([^:]+):(.+)$/s.exec(text) ?? []
  if (project === undefined || role === undefined)
    throw new InvalidArgumentError('Write the project, a colon and the role.')
  return { project, role }
}
