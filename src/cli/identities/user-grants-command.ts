/**
 * `keyturn users grant | revoke`: one role or scope of a user at a time.
 */
import type { DescMethodUnary } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { Command, InvalidArgumentError, Option } from 'commander'
import { InstanceRole } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { splitClientId } from '../../domain/identities/client-id.ts'
import { openApi } from '../api-client.ts'
import { argumentOf, type Declaration, invoke, print } from '../api-command.ts'
import { refusalReasonOf, withMessage } from '../api-error.ts'
import { enumNames } from '../enum-names.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { resolveProject, USER } from './references.ts'

/** The roles over the instance. */
export const INSTANCE_ROLES = enumNames(InstanceRole)

interface RoleOfProject {
  readonly project: string
  readonly role: string
}

interface WhatOptions extends RemoteOptions {
  readonly role?: RoleOfProject
  readonly scope?: string
  readonly instanceRole?: string
}

const { method: Methods } = ServiceUserService

/** The command that grants. */
export const grantCommand = changeCommand(
  'grant',
  'Grant a user a role or scope. Granting one that it has changes nothing.',
)

/** The command that revokes. */
export const revokeCommand = changeCommand(
  'revoke',
  'Take a role or scope away from a user. Tokens that it has keep it.',
)

function changeCommand(direction: 'grant' | 'revoke', description: string): Declaration {
  const isGrant = direction === 'grant'
  return (io) =>
    withRemoteOptions(new Command(direction))
      .description(description)
      .addArgument(argumentOf('userId', USER))
      .addOption(
        new Option('--role <project:role>', 'a role of any project')
          .argParser(parseRole)
          .conflicts(['scope', 'instanceRole']),
      )
      .addOption(new Option('--scope <scope>', "a custom scope of the user's project").conflicts('instanceRole'))
      .addOption(new Option('--instance-role <role>', 'a role over the instance').choices(INSTANCE_ROLES.names))
      .action(async (user: string, options: WhatOptions, command: Command) => {
        const { role, scope, instanceRole } = options
        if (role === undefined && scope === undefined && instanceRole === undefined) {
          command.error(`error: say what to ${direction}: --role, --scope or --instance-role`, { exitCode: 2 })
        }
        const api = await openApi(io, options)
        const userId = await USER.resolve(user, api)
        const change = async (method: DescMethodUnary, request: object, what: string) => {
          const response = await invoke(api, method, { userId, ...request })
          await print({ io, options }, method.output, response, () => {
            const { clientId } = (response as { serviceUser?: { clientId: string } }).serviceUser ?? {}
            return isGrant ? `granted ${what} to ${clientId}` : `revoked ${what} from ${clientId}`
          })
        }
        if (role !== undefined) {
          const request = { projectId: await resolveProject(api, role.project), role: role.role }
          const method = isGrant ? Methods.grantProjectRole : Methods.revokeProjectRole
          await hinting(change(method, request, `the role ${role.role} of ${role.project}`), async () => role.project)
        } else if (scope !== undefined) {
          const method = isGrant ? Methods.grantScope : Methods.revokeScope
          await hinting(change(method, { scope }, `the scope ${scope}`), () => projectOf(api, userId))
        } else if (instanceRole !== undefined) {
          // The API sets all instance roles at once, so the others are read first. Concurrent changes may undo each other.
          const { serviceUser } = await invoke(api, Methods.getServiceUser, { userId })
          const wanted = INSTANCE_ROLES.valueOf(instanceRole)
          const others = (serviceUser?.instanceRoles ?? []).filter((other) => other !== wanted)
          await change(
            Methods.setInstanceRoles,
            { instanceRoles: isGrant ? [...others, wanted] : others },
            instanceRole,
          )
        }
      })
}

/** Which kind of name of a project is unknown, by the reason of the refusal. */
const UNKNOWN: Readonly<Record<string, 'roles' | 'scopes'>> = {
  PROJECT_ROLE_NOT_FOUND: 'roles',
  PROJECT_SCOPE_NOT_FOUND: 'scopes',
}

/** Says which names there are, if what is granted does not exist. @param findProject Finds the name or id of the project. */
async function hinting(change: Promise<void>, findProject: () => Promise<string>): Promise<void> {
  try {
    await change
  } catch (error) {
    const kind = UNKNOWN[refusalReasonOf(error) ?? '']
    if (kind === undefined) throw error
    const list = `keyturn projects ${kind} list ${await findProject()}`
    throw withMessage(error, (message) => `${message}: "${list}" prints those that exist`)
  }
}

async function projectOf(api: Transport, userId: string): Promise<string> {
  const { serviceUser } = await invoke(api, Methods.getServiceUser, { userId })
  return splitClientId(serviceUser?.clientId ?? '')?.projectName ?? serviceUser?.projectId ?? ''
}

/** A project's name or id has no colon, a role may have some. */
function parseRole(text: string): RoleOfProject {
  const colon = text.indexOf(':')
  const [project, role] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)]
  if (project === '' || role === '') throw new InvalidArgumentError('Write the project, a colon and the role.')
  return { project, role }
}
