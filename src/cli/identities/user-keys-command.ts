/**
 * `keyturn users keys add | list | remove`: the public keys of a user for private_key_jwt.
 */
import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { Command } from 'commander'
import {
  AddUserKeyResponseSchema,
  ListUserKeysResponseSchema,
  RemoveUserKeyResponseSchema,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'
import { print } from '../print.ts'
import { ageOf, formatTable, timeLeft } from '../table.ts'
import { expiresOption } from '../when.ts'
import { openUser, type UserReference, userArgument } from './references.ts'

/** The group of commands. */
export function userKeysCommand(io: Io): Command {
  const keys = new Command('keys').description('Public keys of a user, for private_key_jwt (RFC 7523).')
  keys.addCommand(addCommand(io))
  keys.addCommand(listCommand(io))
  keys.addCommand(removeCommand(io))
  return keys
}

function addCommand(io: Io): Command {
  return withRemoteOptions(new Command('add'))
    .description('Add a public key. The private key stays where it is.')
    .addArgument(userArgument())
    .argument('<file>', 'a public key as a JWK, or a JWK set')
    .addOption(expiresOption())
    .action(async (user: UserReference, file: string, options: RemoteOptions & { readonly expires?: Timestamp }) => {
      const { kindOf, readPublicJwk } = await import('./public-key-file.ts')
      const publicJwk = await readPublicJwk(file)
      const { users, userId } = await openUser(io, options, user)
      const { expires } = options
      const response = await users.addUserKey({
        userId,
        publicJwk,
        ...(expires === undefined ? {} : { expirationDate: expires }),
      })
      print(io, options, AddUserKeyResponseSchema, response, () =>
        response.keys.map((key) => `added ${key.keyId} (${kindOf(key)})`).join('\n'),
      )
    })
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the public keys of a user, oldest first.')
    .addArgument(userArgument())
    .action(async (user: UserReference, options: RemoteOptions) => {
      const { users, userId } = await openUser(io, options, user)
      const keys = await everyItemOf(
        (page) => users.listUserKeys({ userId, ...page }),
        (response) => response.keys,
      )
      const { kindOf } = await import('./public-key-file.ts')
      print(io, options, ListUserKeysResponseSchema, create(ListUserKeysResponseSchema, { keys }), (heading) =>
        formatTable(
          ['KEY ID', 'KIND', 'AGE', 'ENDS IN'],
          keys.map((key) => [key.keyId, kindOf(key), ageOf(key.creationDate), timeLeft(key.expirationDate)]),
          heading,
        ),
      )
    })
}

function removeCommand(io: Io): Command {
  return withRemoteOptions(new Command('remove'))
    .description('Remove a public key. Assertions that it signed are refused.')
    .addArgument(userArgument())
    .argument('<key-id>')
    .addOption(yesOption())
    .action(async (user: UserReference, keyId: string, options: RemoteOptions & YesOption) => {
      const { users, userId } = await openUser(io, options, user)
      await confirm(io, options, `Remove the public key ${keyId}? Assertions that it signed are refused then.`)
      const response = await users.removeUserKey({ userId, keyId })
      print(io, options, RemoveUserKeyResponseSchema, response, () => `removed ${keyId}`)
    })
}
