/**
 * `keyturn keys list | create | activate | delete`: the web key service from a terminal.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Argument, Command, Option } from 'commander'
import {
  EcdsaCurve,
  RsaBits,
  RsaHasher,
  State,
  type WebKey,
  type WebKeyConfigSchema,
} from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import {
  ActivateWebKeyResponseSchema,
  CreateWebKeyResponseSchema,
  DeleteWebKeyResponseSchema,
  ListWebKeysResponseSchema,
  WebKeyService,
} from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { connect } from './api-client.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { print } from './output.ts'
import { ageOf, formatTable } from './table.ts'

const BITS = { 2048: RsaBits.RSA_BITS_2048, 3072: RsaBits.RSA_BITS_3072, 4096: RsaBits.RSA_BITS_4096 } as const
const HASHERS = { SHA256: RsaHasher.SHA256, SHA384: RsaHasher.SHA384, SHA512: RsaHasher.SHA512 } as const
const CURVES = { P256: EcdsaCurve.P256, P384: EcdsaCurve.P384, P521: EcdsaCurve.P521 } as const

const STATE_NAMES: Record<State, string> = {
  [State.UNSPECIFIED]: 'unknown',
  [State.INITIAL]: 'initial',
  [State.ACTIVE]: 'active',
  [State.INACTIVE]: 'inactive',
}

interface CreateOptions extends RemoteOptions {
  readonly bits: keyof typeof BITS
  readonly hasher: keyof typeof HASHERS
  readonly curve: keyof typeof CURVES
}

/** The group of commands. */
export function keysCommand(): Command {
  const keys = new Command('keys').description('List, create, activate and delete the keys that sign tokens.')
  keys.addCommand(listCommand())
  keys.addCommand(createCommand())
  keys.addCommand(activateCommand())
  keys.addCommand(deleteCommand())
  return keys
}

function listCommand(): Command {
  return withRemoteOptions(new Command('list'))
    .description('List all keys, oldest first.')
    .action(async (options: RemoteOptions) => {
      const response = await (await connect(options, WebKeyService)).listWebKeys({})
      print(options, ListWebKeysResponseSchema, response, () =>
        formatTable(['KEY ID', 'ALGORITHM', 'STATE', 'AGE'], response.webKeys.map(row)),
      )
    })
}

function createCommand(): Command {
  return withRemoteOptions(new Command('create'))
    .description('Create a key. It is published at once and signs when it is activated.')
    .addArgument(new Argument('[kind]', 'kind of key').choices(['rsa', 'ecdsa', 'ed25519']).default('rsa'))
    .addOption(new Option('--bits <bits>', 'length of an RSA key').choices(Object.keys(BITS)).default('2048'))
    .addOption(new Option('--hasher <hash>', 'hash of an RSA key').choices(Object.keys(HASHERS)).default('SHA256'))
    .addOption(new Option('--curve <curve>', 'curve of an ECDSA key').choices(Object.keys(CURVES)).default('P256'))
    .action(async (kind: string, options: CreateOptions) => {
      const response = await (await connect(options, WebKeyService)).createWebKey({ config: configOf(kind, options) })
      print(
        options,
        CreateWebKeyResponseSchema,
        response,
        () => `created ${response.details?.keyId} (${response.details?.algorithm}), initial`,
      )
    })
}

function activateCommand(): Command {
  return withRemoteOptions(new Command('activate'))
    .description('Make a key sign all new tokens. The key that was active becomes inactive.')
    .argument('<key-id>')
    .action(async (keyId: string, options: RemoteOptions) => {
      const client = await connect(options, WebKeyService)
      const response = await client.activateWebKey({ keyId }, { onHeader: warn })
      print(
        options,
        ActivateWebKeyResponseSchema,
        response,
        () => `activated ${response.details?.keyId}: it signs all new tokens`,
      )
    })
}

function deleteCommand(): Command {
  return withRemoteOptions(new Command('delete'))
    .description('Delete an inactive key. Tokens that it signed stop being valid.')
    .argument('<key-id>')
    .action(async (keyId: string, options: RemoteOptions) => {
      const response = await (await connect(options, WebKeyService)).deleteWebKey({ keyId })
      print(options, DeleteWebKeyResponseSchema, response, () => `deleted ${keyId}`)
    })
}

function row(key: WebKey): string[] {
  return [key.keyId, key.algorithm, STATE_NAMES[key.state], ageOf(key.creationDate)]
}

function configOf(kind: string, { bits, hasher, curve }: CreateOptions): MessageInitShape<typeof WebKeyConfigSchema> {
  switch (kind) {
    case 'ecdsa':
      return { config: { case: 'ecdsa', value: { curve: CURVES[curve] } } }
    case 'ed25519':
      return { config: { case: 'ed25519', value: {} } }
    default:
      return { config: { case: 'rsa', value: { bits: BITS[bits], hasher: HASHERS[hasher] } } }
  }
}

function warn(headers: Headers): void {
  const warning = headers.get('keyturn-warning')
  if (warning !== null) process.stderr.write(`warning: ${warning}\n`)
}
