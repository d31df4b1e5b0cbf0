/**
 * `keyturn users tokens create | list | revoke`: personal access tokens, for calls of Keyturn's own API.
 */
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { call, group, list } from '../api-command.ts'
import { ageOf, formatFields, formatMoment, timeLeft } from '../table.ts'
import { expiresOption } from '../when.ts'
import { USER } from './references.ts'

const { method: Methods } = ServiceUserService

/** The group of commands. */
export const userTokensCommand = group('tokens', "Personal access tokens of a user, for calls of Keyturn's own API.", [
  call({
    name: 'create',
    description: 'Create a personal access token and print it, this once.',
    takes: { userId: USER },
    options: [expiresOption().makeOptionMandatory()],
    method: Methods.createPersonalAccessToken,
    request: (user, { options }: { readonly options: { readonly expires: Timestamp } }) => ({
      ...user,
      expirationDate: options.expires,
    }),
    text: ({ token, personalAccessToken }, _, { options }) => {
      const { tokenId = '', expirationDate = options.expires } = personalAccessToken ?? {}
      const fields = formatFields([
        ['token', token],
        ['token id', tokenId],
        ['expires', formatMoment(expirationDate)],
      ])
      return `${fields}\nThe token is not shown again.`
    },
  }),
  list({
    name: 'list',
    description: 'List the personal access tokens of a user without the tokens, oldest first.',
    takes: { userId: USER },
    method: Methods.listPersonalAccessTokens,
    items: 'personalAccessTokens',
    heading: ['TOKEN ID', 'AGE', 'ENDS IN'],
    row: ({ tokenId, creationDate, expirationDate }) => [tokenId, ageOf(creationDate), timeLeft(expirationDate)],
  }),
  call({
    name: 'revoke',
    description: 'Revoke a personal access token at once.',
    takes: { userId: USER, tokenId: {} },
    method: Methods.revokePersonalAccessToken,
    question: ({ tokenId }) => `Revoke the personal access token ${tokenId} for good?`,
    text: (_, { tokenId }) => `revoked ${tokenId}`,
  }),
])
