/**
 * `keyturn users list | create | show | rename | enable | disable | delete | client-credentials`, and the groups for
 * what users are granted and what they prove themselves with. Their client secrets are `keyturn secrets`.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { Argument, Command } from 'commander'
import {
  CreateServiceUserResponseSchema,
  DeleteServiceUserResponseSchema,
  DisableServiceUserResponseSchema,
  EnableServiceUserResponseSchema,
  ListServiceUsersResponseSchema,
  ServiceUserService,
  type UpdateServiceUserRequestSchema,
  UpdateServiceUserResponseSchema,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { connect, openApi } from '../api-client.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../output.ts'
import { everyItemOf } from '../pages.ts'
import { formatTable } from '../table.ts'
import { resolveProject, userArgument } from './references.ts'
import { grantCommand, revokeCommand } from './user-grants-command.ts'
import { userKeysCommand } from './user-keys-command.ts'
import { showUserCommand } from './user-show-command.ts'
import { userTokensCommand } from './user-tokens-command.ts'

interface CreateOptions extends RemoteOptions {
  readonly project: string
  readonly clientCredentials: boolean
}

/** The group of commands. */
export function usersCommand(): Command {
  const users = new Command('users').description('Manage service users, what they may do, their keys and tokens.')
  for (const command of [
    listCommand(),
    createCommand(),
    showUserCommand(),
    renameCommand(),
    enableCommand(),
    disableCommand(),
    deleteCommand(),
    clientCredentialsCommand(),
    grantCommand(),
    revokeCommand(),
    userKeysCommand(),
    userTokensCommand(),
  ]) {
    users.addCommand(command)
  }
  return users
}

function listCommand(): Command {
  return withRemoteOptions(new Command('list'))
    .description('List users, oldest first. The client ID is the user id, an @ and the project.')
    .option('--project <project>', 'only users of this project: its name or id')
    .action(async (options: RemoteOptions & { readonly project?: string }) => {
      const api = await openApi(options)
      const client = createClient(ServiceUserService, api)
      const projectId = options.project === undefined ? '' : await resolveProject(api, options.project)
      const serviceUsers = await everyItemOf(
        (page) => client.listServiceUsers({ projectId, ...page }),
        (response) => response.serviceUsers,
      )
      print(options, ListServiceUsersResponseSchema, create(ListServiceUsersResponseSchema, { serviceUsers }), () =>
        formatTable(
          ['CLIENT ID', 'STATE', 'NAME'],
          serviceUsers.map(({ clientId, enabled, name }) => [clientId, enabled ? 'enabled' : 'disabled', name]),
        ),
      )
    })
}

function createCommand(): Command {
  return withRemoteOptions(new Command('create'))
    .description('Create a user without secrets, keys and roles, and print its client ID.')
    .argument('<name>', 'what people call it')
    .requiredOption('--project <project>', 'the project that it belongs to: its name or id')
    .option('--no-client-credentials', 'do not let it get tokens with the client credentials grant yet')
    .action(async (name: string, { project, clientCredentials, ...options }: CreateOptions) => {
      const api = await openApi(options)
      const projectId = await resolveProject(api, project)
      const response = await createClient(ServiceUserService, api).createServiceUser({
        projectId,
        name,
        clientCredentialsEnabled: clientCredentials,
      })
      print(options, CreateServiceUserResponseSchema, response, () => `created ${response.serviceUser?.clientId}`)
    })
}

function renameCommand(): Command {
  return withRemoteOptions(new Command('rename'))
    .description('Change what people call a user. Its client ID stays.')
    .addArgument(userArgument())
    .argument('<name>', 'the new name')
    .action((userId: string, name: string, options: RemoteOptions) =>
      update(
        options,
        { userId, name, updateMask: { paths: ['name'] } },
        (clientId) => `renamed ${clientId} to ${name}`,
      ),
    )
}

function clientCredentialsCommand(): Command {
  return withRemoteOptions(new Command('client-credentials'))
    .description('Let a user get tokens with the client credentials grant, or not.')
    .addArgument(userArgument())
    .addArgument(new Argument('<switch>').choices(['on', 'off']))
    .action((userId: string, position: 'on' | 'off', options: RemoteOptions) =>
      update(
        options,
        {
          userId,
          clientCredentialsEnabled: position === 'on',
          updateMask: { paths: ['client_credentials_enabled'] },
        },
        (clientId) => `the client credentials grant of ${clientId} is ${position}`,
      ),
    )
}

function enableCommand(): Command {
  return withRemoteOptions(new Command('enable'))
    .description('Let a disabled user work again.')
    .addArgument(userArgument())
    .action(async (userId: string, options: RemoteOptions) => {
      const response = await (await connect(options, ServiceUserService)).enableServiceUser({ userId })
      print(options, EnableServiceUserResponseSchema, response, () => `enabled ${response.serviceUser?.clientId}`)
    })
}

function disableCommand(): Command {
  return withRemoteOptions(new Command('disable'))
    .description('Stop a user: no new tokens, no calls. Tokens that it has stay valid elsewhere until they expire.')
    .addArgument(userArgument())
    .action(async (userId: string, options: RemoteOptions) => {
      const response = await (await connect(options, ServiceUserService)).disableServiceUser({ userId })
      print(options, DisableServiceUserResponseSchema, response, () => `disabled ${response.serviceUser?.clientId}`)
    })
}

function deleteCommand(): Command {
  return withRemoteOptions(new Command('delete'))
    .description('Delete a user with its secrets, keys, tokens and roles.')
    .addArgument(userArgument())
    .action(async (userId: string, options: RemoteOptions) => {
      const response = await (await connect(options, ServiceUserService)).deleteServiceUser({ userId })
      print(options, DeleteServiceUserResponseSchema, response, () => `deleted ${userId}`)
    })
}

async function update(
  options: RemoteOptions,
  request: MessageInitShape<typeof UpdateServiceUserRequestSchema>,
  done: (clientId: string | undefined) => string,
): Promise<void> {
  const response = await (await connect(options, ServiceUserService)).updateServiceUser(request)
  print(options, UpdateServiceUserResponseSchema, response, () => done(response.serviceUser?.clientId))
}
