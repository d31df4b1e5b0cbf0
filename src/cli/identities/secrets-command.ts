/**
 * `keyturn secrets generate | list | deactivate | delete`: the client secrets of a user (Spec §5).
 */
import { create } from '@bufbuild/protobuf'
import { Command } from 'commander'
import type { ClientSecret } from '../../../gen/iam/user/v2/service_user_pb.js'
import {
  DeactivateClientSecretResponseSchema,
  DeleteClientSecretResponseSchema,
  ListClientSecretsResponseSchema,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'
import { print } from '../print.ts'
import { ageOf, formatTable, isPast, timeLeft } from '../table.ts'
import { openUser, type UserReference, userArgument } from './references.ts'
import { generateSecretCommand } from './secret-generate-command.ts'

/** The group of commands. */
export function secretsCommand(io: Io): Command {
  const secrets = new Command('secrets')
  secrets.addCommand(generateSecretCommand(io))
  secrets.addCommand(listCommand(io))
  secrets.addCommand(deactivateCommand(io))
  secrets.addCommand(deleteCommand(io))
  return secrets
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the secrets of a user without the secrets, oldest first.')
    .addArgument(userArgument())
    .action(async (user: UserReference, options: RemoteOptions) => {
      const { users, userId } = await openUser(io, options, user)
      const secrets = await everyItemOf(
        (page) => users.listClientSecrets({ userId, ...page }),
        (response) => response.secrets,
      )
      print(
        io,
        options,
        ListClientSecretsResponseSchema,
        create(ListClientSecretsResponseSchema, { secrets }),
        (heading) => formatTable(['SECRET ID', 'STATE', 'AGE', 'ENDS IN', 'LAST USE'], secrets.map(row), heading),
      )
    })
}

function deactivateCommand(io: Io): Command {
  return withRemoteOptions(new Command('deactivate'))
    .description('Stop a secret from working, for ever. It stays in the list.')
    .addArgument(userArgument())
    .argument('<secret-id>')
    .addOption(yesOption())
    .action(async (user: UserReference, secretId: string, options: RemoteOptions & YesOption) => {
      const { users, userId } = await openUser(io, options, user)
      await confirm(io, options, `Deactivate the secret ${secretId} for good?`)
      const response = await users.deactivateClientSecret({ userId, secretId })
      print(io, options, DeactivateClientSecretResponseSchema, response, () => `deactivated ${secretId}`)
    })
}

function deleteCommand(io: Io): Command {
  return withRemoteOptions(new Command('delete'))
    .description('Delete a secret, whether it works or not.')
    .addArgument(userArgument())
    .argument('<secret-id>')
    .addOption(yesOption())
    .action(async (user: UserReference, secretId: string, options: RemoteOptions & YesOption) => {
      const { users, userId } = await openUser(io, options, user)
      await confirm(io, options, `Delete the secret ${secretId}?`)
      const response = await users.deleteClientSecret({ userId, secretId })
      print(io, options, DeleteClientSecretResponseSchema, response, () => `deleted ${secretId}`)
    })
}

function row(secret: ClientSecret): string[] {
  const state = stateOf(secret)
  return [
    secret.secretId,
    state,
    ageOf(secret.creationDate),
    state === 'live' ? timeLeft(secret.expirationDate) : '-',
    secret.lastUseDate === undefined ? 'never' : ageOf(secret.lastUseDate),
  ]
}

function stateOf({ deactivationDate, expirationDate }: ClientSecret): 'live' | 'deactivated' | 'expired' {
  if (deactivationDate !== undefined) return 'deactivated'
  return expirationDate !== undefined && isPast(expirationDate) ? 'expired' : 'live'
}
