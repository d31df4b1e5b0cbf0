/**
 * `keyturn users grant | revoke`: one role or scope of a user at a time.
 */
import { type DescMethodUnary, toJson } from '@bufbuild/protobuf'
import { InvalidArgumentError } from 'commander'
import { InstanceRole } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { command, type Declaration } from '../commands.ts'
import { alternatives, enumNames, option, UsageError } from '../options.ts'
import { formatMessage, printResult } from '../output.ts'
import { PROJECT, USER } from './references.ts'

interface RoleOfProject {
  readonly project: string
  readonly role: string
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
      const change = async (method: DescMethodUnary, fields: object) => {
        const response = await api.call(method, { userId, ...fields })
        await printResult(io, options, toJson(method.output, response), () => formatMessage(method.output, response))
      }
      if (role !== undefined) {
        const projectId = await PROJECT.resolve(role.project, api)
        return await change(isGrant ? Methods.grantProjectRole : Methods.revokeProjectRole, {
          projectId,
          role: role.role,
        })
      }
      if (instanceRole === undefined) return await change(isGrant ? Methods.grantScope : Methods.revokeScope, { scope })
      // The API sets all instance roles at once, so the others are read first. Concurrent changes may undo each other.
      const { serviceUser } = await api.call(Methods.getServiceUser, { userId })
      const wanted = InstanceRole[instanceRole]
      const others = (serviceUser?.instanceRoles ?? []).filter((other) => other !== wanted)
      await change(Methods.setInstanceRoles, { instanceRoles: isGrant ? [...others, wanted] : others })
    },
  })
}

/** A project's name or id has no colon, a role may have some. */
function parseRole(text: string): RoleOfProject {
  const [, project, role] = /^([^:]+):(.+)$/s.exec(text) ?? []
  if (project === undefined || role === undefined)
    throw new InvalidArgumentError('Write the project, a colon and the role.')
  return { project, role }
}
