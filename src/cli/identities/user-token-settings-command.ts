/**
 * `keyturn users token-lifetime` and `token-claims`: what the access tokens of a user are like.
 */

import { create } from '@bufbuild/protobuf'
import { DurationSchema } from '@bufbuild/protobuf/wkt'
import { Argument, Command } from 'commander'
import { UpdateServiceUserResponseSchema } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { formatDuration, parseDuration } from '../when.ts'
import { openUser, type UserReference, userArgument } from './references.ts'

/** The commands. */
export function tokenSettingsCommands(io: Io): Command[] {
  return [tokenLifetimeCommand(io), tokenClaimsCommand(io)]
}

function tokenLifetimeCommand(io: Io): Command {
  return withRemoteOptions(new Command('token-lifetime'))
    .description(
      'Set how long the access tokens of a user live from now on. "default" is KEYTURN_TOKEN_LIFETIME, which is also the limit.',
    )
    .addArgument(userArgument())
    .addArgument(
      new Argument('<time>', 'such as 5m or 90s, or default').argParser((text) =>
        text === 'default' ? null : parseDuration(text),
      ),
    )
    .action(async (user: UserReference, seconds: bigint | null, options: RemoteOptions) => {
      const { users, userId } = await openUser(io, options, user)
      const updateMask = { paths: ['token_lifetime'] }
      const tokenLifetime = seconds === null ? {} : { tokenLifetime: create(DurationSchema, { seconds }) }
      const response = await users.updateServiceUser({ userId, ...tokenLifetime, updateMask })
      const { clientId, tokenLifetime: lifetime } = response.serviceUser ?? {}
      const time = lifetime === undefined ? 'the default time' : formatDuration(lifetime)
      print(io, options, UpdateServiceUserResponseSchema, response, () => `tokens of ${clientId} live for ${time}`)
    })
}

function tokenClaimsCommand(io: Io): Command {
  return withRemoteOptions(new Command('token-claims'))
    .description('Set claims that each access token of a user has from now on, besides those that Keyturn sets.')
    .addArgument(userArgument())
    .argument('<json>', `a JSON object, such as '{"tenant": "a"}'; '{}' for none`)
    .action(async (user: UserReference, tokenClaims: string, options: RemoteOptions) => {
      const { users, userId } = await openUser(io, options, user)
      const response = await users.updateServiceUser({ userId, tokenClaims, updateMask: { paths: ['token_claims'] } })
      const { clientId, tokenClaims: claims } = response.serviceUser ?? {}
      const which = claims === '' ? 'no claims of their own' : claims
      print(io, options, UpdateServiceUserResponseSchema, response, () => `tokens of ${clientId} have ${which}`)
    })
}
