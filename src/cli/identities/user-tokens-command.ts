/**
 * `keyturn users tokens create | list | revoke`: personal access tokens, for calls of Keyturn's own API.
 */
import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { Command } from 'commander'
import {
  CreatePersonalAccessTokenResponseSchema,
  ListPersonalAccessTokensResponseSchema,
  RevokePersonalAccessTokenResponseSchema,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'
import { print } from '../print.ts'
import { ageOf, formatFields, formatMoment, formatTable, timeLeft } from '../table.ts'
import { expiresOption } from '../when.ts'
import { openUser, type UserReference, userArgument } from './references.ts'

/** The group of commands. */
export function userTokensCommand(io: Io): Command {
  const tokens = new Command('tokens').description("Personal access tokens of a user, for calls of Keyturn's own API.")
  tokens.addCommand(createCommand(io))
  tokens.addCommand(listCommand(io))
  tokens.addCommand(revokeCommand(io))
  return tokens
}

function createCommand(io: Io): Command {
  return withRemoteOptions(new Command('create'))
    .description('Create a personal access token and print it, this once.')
    .addArgument(userArgument())
    .addOption(expiresOption().makeOptionMandatory())
    .action(async (user: UserReference, options: RemoteOptions & { readonly expires: Timestamp }) => {
      const { users, userId } = await openUser(io, options, user)
      const response = await users.createPersonalAccessToken({ userId, expirationDate: options.expires })
      const { tokenId = '', expirationDate = options.expires } = response.personalAccessToken ?? {}
      print(io, options, CreatePersonalAccessTokenResponseSchema, response, () =>
        [
          formatFields([
            ['token', response.token],
            ['token id', tokenId],
            ['expires', formatMoment(expirationDate)],
          ]),
          'The token is not shown again.',
        ].join('\n'),
      )
    })
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the personal access tokens of a user without the tokens, oldest first.')
    .addArgument(userArgument())
    .action(async (user: UserReference, options: RemoteOptions) => {
      const { users, userId } = await openUser(io, options, user)
      const personalAccessTokens = await everyItemOf(
        (page) => users.listPersonalAccessTokens({ userId, ...page }),
        (response) => response.personalAccessTokens,
      )
      const all = create(ListPersonalAccessTokensResponseSchema, { personalAccessTokens })
      print(io, options, ListPersonalAccessTokensResponseSchema, all, (heading) =>
        formatTable(
          ['TOKEN ID', 'AGE', 'ENDS IN'],
          personalAccessTokens.map(({ tokenId, creationDate, expirationDate }) => [
            tokenId,
            ageOf(creationDate),
            timeLeft(expirationDate),
          ]),
          heading,
        ),
      )
    })
}

function revokeCommand(io: Io): Command {
  return withRemoteOptions(new Command('revoke'))
    .description('Revoke a personal access token at once.')
    .addArgument(userArgument())
    .argument('<token-id>')
    .addOption(yesOption())
    .action(async (user: UserReference, tokenId: string, options: RemoteOptions & YesOption) => {
      const { users, userId } = await openUser(io, options, user)
      await confirm(io, options, `Revoke the personal access token ${tokenId} for good?`)
      const response = await users.revokePersonalAccessToken({ userId, tokenId })
      print(io, options, RevokePersonalAccessTokenResponseSchema, response, () => `revoked ${tokenId}`)
    })
}
