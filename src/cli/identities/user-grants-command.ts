/**
 * `keyturn users grant | revoke`: one role or scope of a user at a time.
 */
import { type JsonValue, toJson } from '@bufbuild/protobuf'
import type { Client, Transport } from '@connectrpc/connect'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { ServiceUser } from '../../../gen/iam/user/v2/service_user_pb.js'
import {
  GrantProjectRoleResponseSchema,
  GrantScopeResponseSchema,
  RevokeProjectRoleResponseSchema,
  RevokeScopeResponseSchema,
  type ServiceUserService,
  SetInstanceRolesResponseSchema,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { splitClientId } from '../../domain/identities/client-id.ts'
import { refusalReasonOf, withMessage } from '../api-error.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { printJson } from '../output.ts'
import { INSTANCE_ROLES, type InstanceRoleName } from './instance-roles.ts'
import { openUser, resolveProject, type UserReference, userArgument } from './references.ts'

interface RoleOfProject {
  readonly project: string
  readonly role: string
}

interface WhatOptions extends RemoteOptions {
  readonly role?: RoleOfProject
  readonly scope?: string
  readonly instanceRole?: InstanceRoleName
}

/** The response of the API, and what was granted or revoked, as text. */
interface Changed {
  readonly json: JsonValue
  readonly user: ServiceUser | undefined
  readonly what: string
}

type Direction = 'grant' | 'revoke'

/** The command that grants. */
export function grantCommand(io: Io): Command {
  return changeCommand(io, 'grant').description(
    'Grant a user a role or scope. Granting one that it has changes nothing.',
  )
}

/** The command that revokes. */
export function revokeCommand(io: Io): Command {
  return changeCommand(io, 'revoke').description('Take a role or scope away from a user. Tokens that it has keep it.')
}

function changeCommand(io: Io, direction: Direction): Command {
  return withRemoteOptions(new Command(direction))
    .addArgument(userArgument())
    .addOption(
      new Option('--role <project:role>', 'a role of any project')
        .argParser(parseRole)
        .conflicts(['scope', 'instanceRole']),
    )
    .addOption(new Option('--scope <scope>', "a custom scope of the user's project").conflicts('instanceRole'))
    .addOption(new Option('--instance-role <role>', 'a role over the instance').choices(Object.keys(INSTANCE_ROLES)))
    .action(async (reference: UserReference, options: WhatOptions, command: Command) => {
      const { role, scope, instanceRole } = options
      if (role === undefined && scope === undefined && instanceRole === undefined) {
        command.error(`error: say what to ${direction}: --role, --scope or --instance-role`, { exitCode: 2 })
      }
      const { json, user, what } = await change(io, direction, reference, options)
      printJson(io, options, json, () =>
        direction === 'grant' ? `granted ${what} to ${user?.clientId}` : `revoked ${what} from ${user?.clientId}`,
      )
    })
}

async function change(io: Io, direction: Direction, reference: UserReference, options: WhatOptions): Promise<Changed> {
  const { role, scope = '', instanceRole } = options
  const { api, users, userId } = await openUser(io, options, reference)
  if (role !== undefined) return changeProjectRole(direction, { users, api, userId, ...role })
  if (instanceRole !== undefined) return changeInstanceRole(direction, { users, userId, instanceRole })

  const what = `the scope ${scope}`
  if (direction === 'grant') {
    const response = await hinting(users.grantScope({ userId, scope }), () => projectOf(users, userId))
    return { json: toJson(GrantScopeResponseSchema, response), user: response.serviceUser, what }
  }
  const response = await users.revokeScope({ userId, scope })
  return { json: toJson(RevokeScopeResponseSchema, response), user: response.serviceUser, what }
}

async function changeProjectRole(
  direction: Direction,
  options: RoleOfProject & {
    readonly users: Client<typeof ServiceUserService>
    readonly api: Transport
    readonly userId: string
  },
): Promise<Changed> {
  const { users, api, userId, project, role } = options
  const request = { userId, projectId: await resolveProject(api, project), role }
  const what = `the role ${role} of ${project}`
  if (direction === 'grant') {
    const response = await hinting(users.grantProjectRole(request), async () => project)
    return { json: toJson(GrantProjectRoleResponseSchema, response), user: response.serviceUser, what }
  }
  const response = await users.revokeProjectRole(request)
  return { json: toJson(RevokeProjectRoleResponseSchema, response), user: response.serviceUser, what }
}

/** Which kind of name of a project is unknown, by the reason of the refusal. */
const UNKNOWN: Readonly<Record<string, 'roles' | 'scopes'>> = {
  PROJECT_ROLE_NOT_FOUND: 'roles',
  PROJECT_SCOPE_NOT_FOUND: 'scopes',
}

/** Says which names there are, if what is granted does not exist. @param findProject Finds the name or id of the project. */
async function hinting<T>(grant: Promise<T>, findProject: () => Promise<string>): Promise<T> {
  try {
    return await grant
  } catch (error) {
    const kind = UNKNOWN[refusalReasonOf(error) ?? '']
    if (kind === undefined) throw error
    const list = `keyturn projects ${kind} list ${await findProject()}`
    throw withMessage(error, (message) => `${message}: "${list}" prints those that exist`)
  }
}

async function projectOf(users: Client<typeof ServiceUserService>, userId: string): Promise<string> {
  const { serviceUser } = await users.getServiceUser({ userId })
  return splitClientId(serviceUser?.clientId ?? '')?.projectName ?? serviceUser?.projectId ?? ''
}

/** The API sets all instance roles at once, so the others are read first. Concurrent changes may undo each other. */
async function changeInstanceRole(
  direction: Direction,
  options: {
    readonly users: Client<typeof ServiceUserService>
    readonly userId: string
    readonly instanceRole: InstanceRoleName
  },
): Promise<Changed> {
  const { users, userId, instanceRole } = options
  const role = INSTANCE_ROLES[instanceRole]
  const { serviceUser } = await users.getServiceUser({ userId })
  const others = (serviceUser?.instanceRoles ?? []).filter((other) => other !== role)
  const response = await users.setInstanceRoles({
    userId,
    instanceRoles: direction === 'grant' ? [...others, role] : others,
  })
  return { json: toJson(SetInstanceRolesResponseSchema, response), user: response.serviceUser, what: instanceRole }
}

/** A project's name or id has no colon, a role may have some. */
function parseRole(text: string): RoleOfProject {
  const colon = text.indexOf(':')
  const [project, role] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)]
  if (project === '' || role === '') throw new InvalidArgumentError('Write the project, a colon and the role.')
  return { project, role }
}
