/**
 * `keyturn users show`: everything about one user except its credentials.
 */
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import { Command } from 'commander'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import type { ServiceUser } from '../../../gen/iam/user/v2/service_user_pb.js'
import { GetServiceUserResponseSchema } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { refusalReasonOf } from '../api-error.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { formatOf } from '../output.ts'
import { print } from '../print.ts'
import { formatFields, formatMoment } from '../table.ts'
import { formatDuration } from '../when.ts'
import { instanceRoleName } from './instance-roles.ts'
import { projectMemberRoleName } from './project-member-roles.ts'
import { openUser, type UserReference, userArgument } from './references.ts'

/** The command. */
export function showUserCommand(io: Io): Command {
  return withRemoteOptions(new Command('show'))
    .description('Print everything about a user except its credentials.')
    .addArgument(userArgument())
    .action(async (user: UserReference, options: RemoteOptions) => {
      const { api, users, userId } = await openUser(io, options, user)
      const response = await users.getServiceUser({ userId })
      const fields = formatOf(options) === 'table' ? await fieldsOf(response.serviceUser, api) : []
      print(io, options, GetServiceUserResponseSchema, response, () => formatFields(fields))
    })
}

async function fieldsOf(user: ServiceUser | undefined, api: Transport): Promise<[string, string][]> {
  if (user === undefined) return []
  const projects = createClient(ProjectService, api)
  const roles = await Promise.all(
    user.projectRoles.map(async ({ projectId, roles }) => {
      const name = await nameOf(projects, projectId)
      return roles.map((role) => `${name}:${role}`)
    }),
  )
  const managed = await Promise.all(
    user.managedProjects.map(async ({ projectId, role }) => {
      return `${await nameOf(projects, projectId)}:${projectMemberRoleName(role)}`
    }),
  )
  return [
    ['client ID', user.clientId],
    ['name', user.name],
    ['project', user.projectId],
    ['state', user.enabled ? 'enabled' : 'disabled'],
    ['client credentials', user.clientCredentialsEnabled ? 'on' : 'off'],
    ['bound tokens', user.boundTokensRequired ? 'required' : 'optional'],
    ['certificate bound', user.certificateBoundTokens ? 'on' : 'off'],
    ['instance roles', listed(user.instanceRoles.map(instanceRoleName))],
    ['manages', listed(managed.sort())],
    ['project roles', listed(roles.flat().sort())],
    ['scopes', listed(user.scopes)],
    ['token lifetime', user.tokenLifetime === undefined ? '-' : formatDuration(user.tokenLifetime)],
    ['token claims', user.tokenClaims === '' ? '-' : user.tokenClaims],
    ['created', user.creationDate === undefined ? '' : formatMoment(user.creationDate)],
  ]
}

/** The name of a project; the id of one that the caller may not see. */
async function nameOf(projects: Client<typeof ProjectService>, projectId: string): Promise<string> {
  try {
    const { project } = await projects.getProject({ projectId })
    return project?.name ?? projectId
  } catch (error) {
    if (!['PROJECT_NOT_FOUND', 'PERMISSION_MISSING'].includes(refusalReasonOf(error) ?? '')) throw error
    return projectId
  }
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? '-' : names.join(' ')
}
