/**
 * `keyturn federation identities list | add | remove`: the JWTs that a user may prove itself with.
 */

import { create } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { Command, InvalidArgumentError, Option } from 'commander'
import {
  AddFederatedIdentityResponseSchema,
  FederatedIdentityService,
  ListFederatedIdentitiesResponseSchema,
  RemoveFederatedIdentityResponseSchema,
} from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { isUuid } from '../../domain/uuid.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import { openUser, type UserReference, userArgument } from '../identities/references.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'
import { print } from '../print.ts'
import { ageOf, formatTable } from '../table.ts'
import { resolveIssuer } from './trusted-issuers.ts'

interface Claim {
  readonly pointer: string
  readonly value: string
}

interface AddOptions extends RemoteOptions {
  readonly issuer: string
  readonly subject: string
  readonly audience?: string
  readonly claim: readonly Claim[]
}

/** The group of commands. */
export function identitiesCommand(io: Io): Command {
  const identities = new Command('identities').description(
    'The JWTs of trusted issuers that a user may prove itself with.',
  )
  identities.addCommand(listCommand(io))
  identities.addCommand(addCommand(io))
  identities.addCommand(removeCommand(io))
  return identities
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the federated identities of a user, oldest first.')
    .addArgument(userArgument())
    .action(async (user: UserReference, options: RemoteOptions) => {
      const { api, userId } = await openUser(io, options, user)
      const client = createClient(FederatedIdentityService, api)
      const identities = await everyItemOf(
        (page) => client.listFederatedIdentities({ userId, ...page }),
        (response) => response.identities,
      )
      const response = create(ListFederatedIdentitiesResponseSchema, { identities })
      print(io, options, ListFederatedIdentitiesResponseSchema, response, (heading) =>
        formatTable(
          ['IDENTITY ID', 'ISSUER ID', 'SUBJECT', 'CLAIMS', 'AGE'],
          identities.map(({ identityId, issuerId, subject, claims, creationDate }) => [
            identityId,
            issuerId,
            subject,
            claims.map(({ pointer, value }) => `${pointer}=${value}`).join(' '),
            ageOf(creationDate),
          ]),
          heading,
        ),
      )
    })
}

function addCommand(io: Io): Command {
  return withRemoteOptions(new Command('add'))
    .description(
      'Let a user prove itself with JWTs of a trusted issuer. Every value must be equal; there are no patterns.',
    )
    .addArgument(userArgument())
    .requiredOption('--issuer <issuer>', 'name or id of the trusted issuer')
    .requiredOption('--subject <sub>', 'the exact sub of the JWTs')
    .option('--audience <aud>', 'the one aud of the JWTs; default: the issuer of this service')
    .addOption(
      new Option('--claim <pointer=value>', 'a claim that the JWTs must have, by JSON pointer; can be repeated')
        .default([])
        .argParser((text: string, before: readonly Claim[]) => [...before, parseClaim(text)]),
    )
    .action(async (user: UserReference, options: AddOptions) => {
      const { subject, audience = '', claim } = options
      const { api, userId } = await openUser(io, options, user)
      const issuerId = await resolveIssuer(api, options.issuer)
      const client = createClient(FederatedIdentityService, api)
      const request = { userId, issuerId, subject, audience, claims: [...claim] }
      const response = await client.addFederatedIdentity(request)
      const { identityId } = response.identity ?? {}
      print(io, options, AddFederatedIdentityResponseSchema, response, () => `added ${identityId}`)
    })
}

function removeCommand(io: Io): Command {
  return withRemoteOptions(new Command('remove'))
    .description('Remove a federated identity. JWTs that fit it are refused.')
    .addArgument(userArgument())
    .argument('<identity-id>')
    .addOption(yesOption())
    .action(async (user: UserReference, identityId: string, options: RemoteOptions & YesOption) => {
      if (!isUuid(identityId.toLowerCase())) {
        const hint = '"keyturn federation identities list" prints those of a user'
        throw new Error(`${JSON.stringify(identityId)} is no id of a federated identity: ${hint}`)
      }
      const { api, userId } = await openUser(io, options, user)
      await confirm(io, options, `Remove the federated identity ${identityId}? JWTs that fit it are refused then.`)
      const response = await createClient(FederatedIdentityService, api).removeFederatedIdentity({ userId, identityId })
      print(io, options, RemoveFederatedIdentityResponseSchema, response, () => `removed ${identityId}`)
    })
}

/** The pointer ends at the first equals sign, which a name can have only in a request of another kind. */
function parseClaim(text: string): Claim {
  const at = text.indexOf('=')
  if (!text.startsWith('/') || at < 0)
    throw new InvalidArgumentError('It is a JSON pointer, = and a text: /repository=shop/web.')
  return { pointer: text.slice(0, at), value: text.slice(at + 1) }
}
