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
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../output.ts'
import { everyItemOf } from '../pages.ts'
import { ageOf, formatFields, formatMoment, formatTable, timeLeft } from '../table.ts'
import { expiresOption } from '../when.ts'
import { userArgument } from './references.ts'

/** The group of commands. */
export function userTokensCommand(): Command {
  const tokens = new Command('tokens').description("Personal access tokens of a user, for calls of Keyturn's own API.")
  tokens.addCommand(createCommand())
  tokens.addCommand(listCommand())
  tokens.addCommand(revokeCommand())
  return tokens
}

function createCommand(): Command {
  return withRemoteOptions(new Command('create'))
    .description('Create a personal access token and print it, this once.')
    .addArgument(userArgument())
    .addOption(expiresOption().makeOptionMandatory())
    .action(async (userId: string, options: RemoteOptions & { readonly expires: Timestamp }) => {
      const client = await connect(options, ServiceUserService)
      const response = await client.createPersonalAccessToken({ userId, expirationDate: options.expires })
      const { tokenId = '', expirationDate = options.expires } = response.personalAccessToken ?? {}
      print(options, CreatePersonalAccessTokenResponseSchema, response, () =>
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

function listCommand(): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the personal access tokens of a user without the tokens, oldest first.')
    .addArgument(userArgument())
    .action(async (userId: string, options: RemoteOptions) => {
      const client = await connect(options, ServiceUserService)
      const personalAccessTokens = await everyItemOf(
        (page) => client.listPersonalAccessTokens({ userId, ...page }),
        (response) => response.personalAccessTokens,
      )
      const all = create(ListPersonalAccessTokensResponseSchema, { personalAccessTokens })
      print(options, ListPersonalAccessTokensResponseSchema, all, () =>
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

function revokeCommand(): Command {
  return withRemoteOptions(new Command('revoke'))
    .description('Revoke a personal access token at once.')
    .addArgument(userArgument())
    .argument('<token-id>')
    .action(async (userId: string, tokenId: string, options: RemoteOptions) => {
      const response = await (await connect(options, ServiceUserService)).revokePersonalAccessToken({ userId, tokenId })
      print(options, RevokePersonalAccessTokenResponseSchema, response, () => `revoked ${tokenId}`)
    })
}
