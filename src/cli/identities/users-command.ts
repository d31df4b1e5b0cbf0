/**
 * `keyturn users list | create | show | rename | enable | disable | revoke-tokens | delete | client-credentials`, and the groups for
 * their grants, keys, certificates and tokens. Their client secrets are `keyturn secrets`.
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
  RevokeTokensResponseSchema,
  ServiceUserService,
  type UpdateServiceUserRequestSchema,
  UpdateServiceUserResponseSchema,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { openApi } from '../api-client.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'
import { print } from '../print.ts'
import { formatTable } from '../table.ts'
import { openUser, resolveProject, type UserReference, userArgument } from './references.ts'
import { userCertificatesCommand } from './user-certificates-command.ts'
import { grantCommand, revokeCommand } from './user-grants-command.ts'
import { userKeysCommand } from './user-keys-command.ts'
import { showUserCommand } from './user-show-command.ts'
import { tokenSettingsCommands } from './user-token-settings-command.ts'
import { userTokensCommand } from './user-tokens-command.ts'

interface CreateOptions extends RemoteOptions {
  readonly project: string
  readonly clientCredentials: boolean
}

/** The group of commands. */
export function usersCommand(io: Io): Command {
  const users = new Command('users')
  for (const command of [
    listCommand(io),
    createCommand(io),
    showUserCommand(io),
    renameCommand(io),
    enableCommand(io),
    disableCommand(io),
    revokeTokensCommand(io),
    deleteCommand(io),
    clientCredentialsCommand(io),
    ...tokenSettingsCommands(io),
    boundTokensCommand(io),
    certificateBoundTokensCommand(io),
    grantCommand(io),
    revokeCommand(io),
    userKeysCommand(io),
    userCertificatesCommand(io),
    userTokensCommand(io),
  ]) {
    users.addCommand(command)
  }
  return users
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List users, oldest first. The client ID is the user id, an @ and the project.')
    .option('--project <project>', 'only users of this project: its name or id')
    .option('--search <text>', 'only users whose name or client ID contains this text, in any case')
    .action(async (options: RemoteOptions & { readonly project?: string; readonly search?: string }) => {
      const api = await openApi(io, options)
      const client = createClient(ServiceUserService, api)
      const projectId = options.project === undefined ? '' : await resolveProject(api, options.project)
      const serviceUsers = await everyItemOf(
        (page) => client.listServiceUsers({ projectId, search: options.search ?? '', ...page }),
        (response) => response.serviceUsers,
      )
      const all = create(ListServiceUsersResponseSchema, { serviceUsers })
      print(io, options, ListServiceUsersResponseSchema, all, (heading) =>
        formatTable(
          ['CLIENT ID', 'STATE', 'NAME'],
          serviceUsers.map(({ clientId, enabled, name }) => [clientId, enabled ? 'enabled' : 'disabled', name]),
          heading,
        ),
      )
    })
}

function createCommand(io: Io): Command {
  return withRemoteOptions(new Command('create'))
    .description('Create a user without secrets, keys and roles, and print its client ID.')
    .argument('<name>', 'what people call it')
    .requiredOption('--project <project>', 'the project that it belongs to: its name or id')
    .option('--no-client-credentials', 'do not let it get tokens with the client credentials grant yet')
    .action(async (name: string, { project, clientCredentials, ...options }: CreateOptions) => {
      const api = await openApi(io, options)
      const projectId = await resolveProject(api, project)
      const response = await createClient(ServiceUserService, api).createServiceUser({
        projectId,
        name,
        clientCredentialsEnabled: clientCredentials,
      })
      print(io, options, CreateServiceUserResponseSchema, response, () => `created ${response.serviceUser?.clientId}`)
    })
}

function renameCommand(io: Io): Command {
  return withRemoteOptions(new Command('rename'))
    .description('Change what people call a user. Its client ID stays.')
    .addArgument(userArgument())
    .argument('<name>', 'the new name')
    .action((user: UserReference, name: string, options: RemoteOptions) =>
      update(
        io,
        options,
        { user, changes: { name, updateMask: { paths: ['name'] } } },
        (clientId) => `renamed ${clientId} to ${name}`,
      ),
    )
}

function clientCredentialsCommand(io: Io): Command {
  return withRemoteOptions(new Command('client-credentials'))
    .description('Let a user get tokens with the client credentials grant, or not.')
    .addArgument(userArgument())
    .addArgument(new Argument('<switch>').choices(['on', 'off']))
    .action((user: UserReference, position: 'on' | 'off', options: RemoteOptions) =>
      update(
        io,
        options,
        {
          user,
          changes: {
            clientCredentialsEnabled: position === 'on',
            updateMask: { paths: ['client_credentials_enabled'] },
          },
        },
        (clientId) => `the client credentials grant of ${clientId} is ${position}`,
      ),
    )
}

function boundTokensCommand(io: Io): Command {
  return withRemoteOptions(new Command('bound-tokens'))
    .description(
      'Give a user only tokens that are bound to a key (DPoP) or to a client certificate, or bearer tokens too. This command line makes no ' +
        'DPoP proofs.',
    )
    .addArgument(userArgument())
    .addArgument(new Argument('<rule>').choices(['required', 'optional']))
    .action((user: UserReference, rule: 'required' | 'optional', options: RemoteOptions) =>
      update(
        io,
        options,
        {
          user,
          changes: { boundTokensRequired: rule === 'required', updateMask: { paths: ['bound_tokens_required'] } },
        },
        (clientId) => `bound tokens are ${rule} for ${clientId}`,
      ),
    )
}

function certificateBoundTokensCommand(io: Io): Command {
  return withRemoteOptions(new Command('certificate-bound-tokens'))
    .description(
      'Bind the tokens of a user to the client certificate with which it requests them, or take no notice of certificates (RFC 8705).',
    )
    .addArgument(userArgument())
    .addArgument(new Argument('<switch>').choices(['on', 'off']))
    .action((user: UserReference, position: 'on' | 'off', options: RemoteOptions) =>
      update(
        io,
        options,
        {
          user,
          changes: { certificateBoundTokens: position === 'on', updateMask: { paths: ['certificate_bound_tokens'] } },
        },
        (clientId) => `certificate-bound tokens are ${position} for ${clientId}`,
      ),
    )
}

function enableCommand(io: Io): Command {
  return withRemoteOptions(new Command('enable'))
    .description('Let a disabled user work again.')
    .addArgument(userArgument())
    .action(async (user: UserReference, options: RemoteOptions) => {
      const { users, userId } = await openUser(io, options, user)
      const response = await users.enableServiceUser({ userId })
      print(io, options, EnableServiceUserResponseSchema, response, () => `enabled ${response.serviceUser?.clientId}`)
    })
}

function disableCommand(io: Io): Command {
  return withRemoteOptions(new Command('disable'))
    .description('Stop a user: no new tokens, no calls. Tokens that it has stay valid elsewhere until they expire.')
    .addArgument(userArgument())
    .action(async (user: UserReference, options: RemoteOptions) => {
      const { users, userId } = await openUser(io, options, user)
      const response = await users.disableServiceUser({ userId })
      print(io, options, DisableServiceUserResponseSchema, response, () => `disabled ${response.serviceUser?.clientId}`)
    })
}

function revokeTokensCommand(io: Io): Command {
  return withRemoteOptions(new Command('revoke-tokens'))
    .description(
      'Revoke all access tokens that a user has got so far, for the API of Keyturn and for introspection, and end its sessions of the ' +
        'console. Other services accept the tokens until they expire.',
    )
    .addArgument(userArgument())
    .addOption(yesOption())
    .action(async (user: UserReference, options: RemoteOptions & YesOption) => {
      const { users, userId } = await openUser(io, options, user)
      await confirm(io, options, `Revoke all access tokens of the user ${userId}?`)
      const response = await users.revokeTokens({ userId })
      print(io, options, RevokeTokensResponseSchema, response, () => `revoked the access tokens of ${userId}`)
    })
}

function deleteCommand(io: Io): Command {
  return withRemoteOptions(new Command('delete'))
    .description('Delete a user with its secrets, keys, tokens and roles.')
    .addArgument(userArgument())
    .addOption(yesOption())
    .action(async (user: UserReference, options: RemoteOptions & YesOption) => {
      const { users, userId } = await openUser(io, options, user)
      await confirm(io, options, `Delete the user ${userId} with its secrets, keys, tokens and roles?`)
      const response = await users.deleteServiceUser({ userId })
      print(io, options, DeleteServiceUserResponseSchema, response, () => `deleted ${userId}`)
    })
}

async function update(
  io: Io,
  options: RemoteOptions,
  {
    user,
    changes,
  }: { readonly user: UserReference; readonly changes: MessageInitShape<typeof UpdateServiceUserRequestSchema> },
  done: (clientId: string | undefined) => string,
): Promise<void> {
  const { users, userId } = await openUser(io, options, user)
  const response = await users.updateServiceUser({ ...changes, userId })
  print(io, options, UpdateServiceUserResponseSchema, response, () => done(response.serviceUser?.clientId))
}
