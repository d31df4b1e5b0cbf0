/**
 * `keyturn federation issuers list | create | show | update | delete`: the issuers whose JWTs are believed.
 */
import { create } from '@bufbuild/protobuf'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { TrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import {
  CreateTrustedIssuerResponseSchema,
  DeleteTrustedIssuerResponseSchema,
  GetTrustedIssuerResponseSchema,
  ListTrustedIssuersResponseSchema,
  TrustedIssuerService,
  UpdateTrustedIssuerResponseSchema,
} from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { connect, openApi } from '../api-client.ts'
import type { Paint } from '../color.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { ageOf, formatTable } from '../table.ts'
import { createClient } from '../unary-client.ts'
import { readJwks } from './jwks-file.ts'
import { everyIssuer, resolveIssuer } from './trusted-issuers.ts'

interface KeysOption {
  readonly keys?: string
}

interface LimitOptions {
  readonly algorithms?: string[]
  readonly maxLifetime?: number
}

/** The group of commands. */
export function issuersCommand(io: Io): Command {
  const issuers = new Command('issuers').description('The issuers whose JWTs are believed.')
  issuers.addCommand(listCommand(io))
  issuers.addCommand(createCommand(io))
  issuers.addCommand(showCommand(io))
  issuers.addCommand(updateCommand(io))
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
  return withLimits(withRemoteOptions(new Command('create')))
    .description('Trust an issuer. Its JWTs give no right until a user has an identity that fits them.')
    .argument('<issuer>', 'the exact iss of its JWTs, or spiffe://<trust domain>')
    .addOption(keysOption().makeOptionMandatory())
    .action(async (issuer: string, options: RemoteOptions & KeysOption & LimitOptions) => {
      const { algorithms = [], maxLifetime } = options
      const keys = await keysFrom(options)
      const client = await connect(io, options, TrustedIssuerService)
      const response = await client.createTrustedIssuer({ issuer, keys, algorithms, ...lifetime(maxLifetime) })
      const { issuerId } = response.trustedIssuer ?? {}
      print(io, options, CreateTrustedIssuerResponseSchema, response, () => `trusted ${issuer} (${issuerId})`)
    })
}

function showCommand(io: Io): Command {
  return withRemoteOptions(new Command('show'))
    .description('Print one trusted issuer. With --json its keys too.')
    .argument('<issuer>', 'name or id')
    .action(async (issuer: string, options: RemoteOptions) => {
      const api = await openApi(io, options)
      const issuerId = await resolveIssuer(api, issuer)
      const response = await createClient(TrustedIssuerService, api).getTrustedIssuer({ issuerId })
      const { trustedIssuer } = response
      print(io, options, GetTrustedIssuerResponseSchema, response, (heading) =>
        table(trustedIssuer === undefined ? [] : [trustedIssuer], heading),
      )
    })
}

function updateCommand(io: Io): Command {
  return withLimits(withRemoteOptions(new Command('update')))
    .description('Change the keys, the algorithms or the longest lifetime of JWTs. What is not named stays.')
    .argument('<issuer>', 'name or id')
    .addOption(keysOption())
    .action(async (issuer: string, options: RemoteOptions & KeysOption & LimitOptions) => {
      const { keys, algorithms, maxLifetime } = options
      const paths = [
        ...(keys === undefined ? [] : ['keys']),
        ...(algorithms === undefined ? [] : ['algorithms']),
        ...(maxLifetime === undefined ? [] : ['max_lifetime_seconds']),
      ]
      const change = {
        ...(keys === undefined ? {} : { keys: await keysFrom(options) }),
        algorithms: algorithms ?? [],
        ...lifetime(maxLifetime),
      }
      const api = await openApi(io, options)
      const issuerId = await resolveIssuer(api, issuer)
      const client = createClient(TrustedIssuerService, api)
      const response = await client.updateTrustedIssuer({ issuerId, ...change, updateMask: { paths } })
      print(io, options, UpdateTrustedIssuerResponseSchema, response, () => `updated ${issuer}`)
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

function withLimits(command: Command): Command {
  return command
    .option('--algorithms <alg...>', 'the algorithms of its JWTs; default: all that are asymmetric')
    .addOption(
      new Option('--max-lifetime <seconds>', 'the longest lifetime of its JWTs, 60 to 86400').argParser(seconds),
    )
}

function lifetime(maxLifetimeSeconds: number | undefined) {
  return maxLifetimeSeconds === undefined ? {} : { maxLifetimeSeconds }
}

function seconds(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is a number of seconds.')
}

function keysOption(): Option {
  return new Option('--keys <file>', 'a file with the public keys of the issuer, as a JWK set')
}

async function keysFrom({ keys: file = '' }: KeysOption) {
  return { source: { case: 'jwks', value: await readJwks(file) } } as const
}

function table(issuers: readonly TrustedIssuer[], heading: Paint): string {
  return formatTable(
    ['ISSUER ID', 'ISSUER', 'MAX LIFETIME', 'AGE'],
    issuers.map(({ issuerId, issuer, maxLifetimeSeconds, creationDate }) => [
      issuerId,
      issuer,
      `${maxLifetimeSeconds}s`,
      ageOf(creationDate),
    ]),
    heading,
  )
}
