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
  ServiceUserService,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { connect } from '../api-client.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../output.ts'
import { everyItemOf } from '../pages.ts'
import { ageOf, formatFields, formatMoment, formatTable, timeLeft } from '../table.ts'
import { expiresOption } from '../when.ts'
import { userArgument } from './references.ts'

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
    .action(async (userId: string, options: RemoteOptions & { readonly expires: Timestamp }) => {
      const client = await connect(io, options, ServiceUserService)
      const response = await client.createPersonalAccessToken({ userId, expirationDate: options.expires })
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
    .action(async (userId: string, options: RemoteOptions) => {
      const client = await connect(io, options, ServiceUserService)
      const personalAccessTokens = await everyItemOf(
        (page) => client.listPersonalAccessTokens({ userId, ...page }),
        (response) => response.personalAccessTokens,
      )
      const all = create(ListPersonalAccessTokensResponseSchema, { personalAccessTokens })
      print(io, options, ListPersonalAccessTokensResponseSchema, all, () =>
        formatTable(
          ['TOKEN ID', 'AGE', 'ENDS IN'],
          personalAccessTokens.map(({ tokenId, creationDate, expirationDate }) => [
            tokenId,
            ageOf(creationDate),
            timeLeft(expirationDate),
          ]),
        ),
      )
    })
}

function revokeCommand(io: Io): Command {
  return withRemoteOptions(new Command('revoke'))
    .description('Revoke a personal access token at once.')
    .addArgument(userArgument())
    .argument('<token-id>')
    .action(async (userId: string, tokenId: string, options: RemoteOptions) => {
      const response = await (await connect(io, options, ServiceUserService)).revokePersonalAccessToken({
        userId,
        tokenId,
      })
      print(io, options, RevokePersonalAccessTokenResponseSchema, response, () => `revoked ${tokenId}`)
    })
}
