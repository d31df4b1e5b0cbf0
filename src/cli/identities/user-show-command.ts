/**
 * `keyturn users show`: everything about one user except its credentials.
 */
import type { Transport } from '@connectrpc/connect'
import { Command } from 'commander'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import type { ServiceUser } from '../../../gen/iam/user/v2/service_user_pb.js'
import { GetServiceUserResponseSchema } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { formatOf } from '../output.ts'
import { print } from '../print.ts'
import { formatFields, formatMoment } from '../table.ts'
import { createClient } from '../unary-client.ts'
import { formatDuration } from '../when.ts'
import { instanceRoleName } from './instance-roles.ts'
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
      const { project } = await projects.getProject({ projectId })
      return roles.map((role) => `${project?.name}:${role}`)
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
    ['project roles', listed(roles.flat().sort())],
    ['scopes', listed(user.scopes)],
    ['token lifetime', user.tokenLifetime === undefined ? '-' : formatDuration(user.tokenLifetime)],
    ['token claims', user.tokenClaims === '' ? '-' : user.tokenClaims],
    ['created', user.creationDate === undefined ? '' : formatMoment(user.creationDate)],
  ]
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? '-' : names.join(' ')
}
