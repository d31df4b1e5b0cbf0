/**
 * `keyturn federation issuers list | create | show | update | refresh | delete`: the issuers whose JWTs are believed.
 */

import { create } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { Command } from 'commander'
import type { TrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import {
  CreateTrustedIssuerResponseSchema,
  DeleteTrustedIssuerResponseSchema,
  GetTrustedIssuerResponseSchema,
  ListTrustedIssuersResponseSchema,
  RefreshTrustedIssuerKeysResponseSchema,
  TrustedIssuerService,
} from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { connect, openApi } from '../api-client.ts'
import type { Paint } from '../color.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { ageOf, formatFields, formatMoment, formatTable } from '../table.ts'
import { describeSource, type KeyOptions, keyIdsOf, keysFrom } from './issuer-keys.ts'
import { type LimitOptions, lifetime, withKeysAndLimits } from './issuer-limits.ts'
import { updateCommand } from './issuers-update-command.ts'
import { parseIssuerName } from './option-values.ts'
import { everyIssuer, resolveIssuer } from './trusted-issuers.ts'

/** The group of commands. */
export function issuersCommand(io: Io): Command {
  const issuers = new Command('issuers').description('The issuers whose JWTs are believed.')
  issuers.addCommand(listCommand(io))
  issuers.addCommand(createCommand(io))
  issuers.addCommand(showCommand(io))
  issuers.addCommand(updateCommand(io))
  issuers.addCommand(refreshCommand(io))
  issuers.addCommand(deleteCommand(io))
  return issuers
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the trusted issuers by name.')
    .action(async (options: RemoteOptions) => {
      const trustedIssuers = await everyIssuer(await connect(io, options, TrustedIssuerService))
      const response = create(ListTrustedIssuersResponseSchema, { trustedIssuers })
      print(io, options, ListTrustedIssuersResponseSchema, response, (heading) => table(trustedIssuers, heading))
    })
}

function createCommand(io: Io): Command {
  return withKeysAndLimits(withRemoteOptions(new Command('create')))
    .description('Trust an issuer. Its JWTs give no right until a user has an identity that fits them.')
    .argument('<issuer>', 'the exact iss of its JWTs, or spiffe://<trust domain>', parseIssuerName)
    .action(async (issuer: string, options: RemoteOptions & KeyOptions & LimitOptions) => {
      const { algorithms = [], maxLifetime } = options
      const keys = await keysFrom(options)
      if (keys === undefined)
        throw new Error('say where its keys come from: --discovery, --jwks-url, --spiffe-bundle-url or --keys')
      const client = await connect(io, options, TrustedIssuerService)
      const response = await client.createTrustedIssuer({ issuer, keys, algorithms, ...lifetime(maxLifetime) })
      const { issuerId } = response.trustedIssuer ?? {}
      print(io, options, CreateTrustedIssuerResponseSchema, response, () => `trusted ${issuer} (${issuerId})`)
    })
}

function showCommand(io: Io): Command {
  return withRemoteOptions(new Command('show'))
    .description('Print one trusted issuer, and how fetching its keys goes. With --json its keys too.')
    .argument('<issuer>', 'name or id')
    .action(async (issuer: string, options: RemoteOptions) => {
      const api = await openApi(io, options)
      const issuerId = await resolveIssuer(api, issuer)
      const response = await createClient(TrustedIssuerService, api).getTrustedIssuer({ issuerId })
      print(io, options, GetTrustedIssuerResponseSchema, response, () => formatFields(fieldsOf(response.trustedIssuer)))
    })
}

function refreshCommand(io: Io): Command {
  return withRemoteOptions(new Command('refresh'))
    .description(
      'Have the process of the server that answers fetch the keys of an issuer now, and say what came of it.',
    )
    .argument('<issuer>', 'name or id')
    .action(async (name: string, options: RemoteOptions) => {
      const api = await openApi(io, options)
      const issuerId = await resolveIssuer(api, name)
      const response = await createClient(TrustedIssuerService, api).refreshTrustedIssuerKeys({ issuerId })
      const { trustedIssuer } = response
      const failure = trustedIssuer?.fetchedKeys?.failure ?? ''
      if (failure !== '') throw new Error(`the keys could not be fetched: ${failure}`)
      const keyIds = trustedIssuer === undefined ? '-' : keyIdsOf(trustedIssuer)
      print(io, options, RefreshTrustedIssuerKeysResponseSchema, response, () => `fetched: ${keyIds}`)
    })
}

function deleteCommand(io: Io): Command {
  return withRemoteOptions(new Command('delete'))
    .description('Delete an issuer, and the federated identities that name it, of all users.')
    .argument('<issuer>', 'name or id')
    .addOption(yesOption())
    .action(async (issuer: string, options: RemoteOptions & YesOption) => {
      const api = await openApi(io, options)
      const issuerId = await resolveIssuer(api, issuer)
      await confirm(io, options, `Delete the issuer ${issuer}, and the federated identities of all users that name it?`)
      const response = await createClient(TrustedIssuerService, api).deleteTrustedIssuer({ issuerId })
      print(io, options, DeleteTrustedIssuerResponseSchema, response, () => `deleted ${issuer}`)
    })
}

function table(issuers: readonly TrustedIssuer[], heading: Paint): string {
  return formatTable(
    ['ISSUER ID', 'ISSUER', 'KEYS', 'MAX LIFETIME', 'AGE'],
    issuers.map((trusted) => [
      trusted.issuerId,
      trusted.issuer,
      keyState(trusted),
      `${trusted.maxLifetimeSeconds}s`,
      ageOf(trusted.creationDate),
    ]),
    heading,
  )
}

function keyState({ fetchedKeys }: TrustedIssuer): string {
  if (fetchedKeys === undefined) return 'given'
  const { fetchDate, failure } = fetchedKeys
  const state = fetchDate === undefined ? 'not fetched' : `fetched ${ageOf(fetchDate)} ago`
  return failure === '' ? state : `${state}, failing`
}

function fieldsOf(trusted: TrustedIssuer | undefined): [string, string][] {
  if (trusted === undefined) return []
  const { fetchedKeys, keys } = trusted
  const moment = (date: Parameters<typeof formatMoment>[0] | undefined) =>
    date === undefined ? '-' : formatMoment(date)
  const fetches: [string, string][] =
    fetchedKeys === undefined
      ? []
      : [
          ['fetched', moment(fetchedKeys.fetchDate)],
          ['used until', moment(fetchedKeys.expirationDate)],
          ['next fetch', moment(fetchedKeys.nextFetchDate)],
          [
            'last failure',
            fetchedKeys.failure === '' ? '-' : `${moment(fetchedKeys.failureDate)} ${fetchedKeys.failure}`,
          ],
        ]
  return [
    ['issuer ID', trusted.issuerId],
    ['issuer', trusted.issuer],
    ['keys', keys === undefined ? '-' : describeSource(keys)],
    ['key IDs', keyIdsOf(trusted)],
    ...fetches,
    ['algorithms', trusted.algorithms.join(' ')],
    ['max lifetime', `${trusted.maxLifetimeSeconds}s`],
    ['created', moment(trusted.creationDate)],
  ]
}
