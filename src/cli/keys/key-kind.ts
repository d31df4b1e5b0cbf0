/**
 * The kind of a key on the command line: `rsa`, `ecdsa` or `ed25519`, with the options of the first two.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { type Command, Option } from 'commander'
import {
  EcdsaCurve,
  RsaBits,
  RsaHasher,
  type WebKeyConfig,
  type WebKeyConfigSchema,
} from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import { algorithmOf, DEFAULT_WEB_KEY_CONFIG, type KeyAlgorithm } from '../../domain/keys/key-algorithm.ts'
import { invoke } from '../api-command.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { printWarnings } from '../output.ts'

/** The names of the kinds. */
export const KINDS = ['rsa', 'ecdsa', 'ed25519'] as const

/** The name of a kind. */
export type Kind = (typeof KINDS)[number]

const BITS = { 2048: RsaBits.RSA_BITS_2048, 3072: RsaBits.RSA_BITS_3072, 4096: RsaBits.RSA_BITS_4096 } as const
const HASHERS = { SHA256: RsaHasher.SHA256, SHA384: RsaHasher.SHA384, SHA512: RsaHasher.SHA512 } as const
const CURVES = { P256: EcdsaCurve.P256, P384: EcdsaCurve.P384, P521: EcdsaCurve.P521 } as const

const HASHES = { SHA256: 'sha256', SHA384: 'sha384', SHA512: 'sha512' } as const
const EC_CURVES = { P256: 'P-256', P384: 'P-384', P521: 'P-521' } as const

/** The options of a kind. */
export interface KindOptions extends YesOption {
  readonly bits: keyof typeof BITS
  readonly hasher: keyof typeof HASHERS
  readonly curve: keyof typeof CURVES
}

/** The options by the kind that they belong to. */
const OPTIONS_OF: Readonly<Record<Kind, readonly string[]>> = { rsa: ['bits', 'hasher'], ecdsa: ['curve'], ed25519: [] }

/** The options of all kinds, and the one that confirms. */
export const KIND_OPTIONS = [
  new Option('--bits <bits>', 'length of an RSA key').choices(Object.keys(BITS)).default('2048'),
  new Option('--hasher <hash>', 'hash of an RSA key').choices(Object.keys(HASHERS)).default('SHA256'),
  new Option('--curve <curve>', 'curve of an ECDSA key').choices(Object.keys(CURVES)).default('P256'),
  yesOption('do not ask before the first key of an algorithm'),
]

/** Ends the command with a usage error if an option of another kind is given: it would be ignored. @param kind Undefined: none is named. */
export function assertOptionsOfKind(command: Command, kind: Kind | undefined): void {
  const own = kind === undefined ? [] : OPTIONS_OF[kind]
  const all = Object.values(OPTIONS_OF).flat()
  const [foreign] = all.filter((name) => command.getOptionValueSource(name) === 'cli' && !own.includes(name))
  if (foreign === undefined) return
  if (kind === undefined) command.error('error: --bits, --hasher and --curve need --kind, whose options they are')
  const owner = KINDS.find((candidate) => OPTIONS_OF[candidate].includes(foreign))
  command.error(`error: --${foreign} is an option of ${owner} keys, and this is a key of the kind ${kind}`)
}

/** The configuration of a kind with its options. */
export function configOf(
  kind: string,
  { bits, hasher, curve }: KindOptions,
): MessageInitShape<typeof WebKeyConfigSchema> {
  switch (kind) {
    case 'ecdsa':
      return { config: { case: 'ecdsa', value: { curve: CURVES[curve] } } }
    case 'ed25519':
      return { config: { case: 'ed25519', value: {} } }
    default:
      return { config: { case: 'rsa', value: { bits: BITS[bits], hasher: HASHERS[hasher] } } }
  }
}

function algorithmOfKind(kind: string, { hasher, curve }: KindOptions): KeyAlgorithm {
  switch (kind) {
    case 'ecdsa':
      return algorithmOf({ kind, curve: EC_CURVES[curve] })
    case 'ed25519':
      return algorithmOf({ kind })
    default:
      return algorithmOf({ ...DEFAULT_WEB_KEY_CONFIG, hasher: HASHES[hasher] })
  }
}

/**
 * Warns at a terminal on standard error, and asks, before the first key of an algorithm is created, which verifiers may not support.
 *
 * @returns The warnings.
 * @throws {Error} if the answer is not yes.
 */
export async function confirmAlgorithm(
  kind: string,
  { io, api, options }: { readonly io: Io; readonly api: Transport; readonly options: KindOptions },
  question: string,
): Promise<readonly string[]> {
  if (options.yes === true || !io.isTerminal) return []
  const { webKeys } = await invoke(api, WebKeyService.method.listWebKeys, {})
  const warnings = algorithmWarnings(algorithmOfKind(kind, options), webKeys)
  if (warnings.length === 0) return []
  printWarnings(io, warnings)
  await confirm(io, {}, question)
  return warnings
}

/** A configuration as text, for example `rsa 2048 SHA256`. */
export function formatKind(wire: WebKeyConfig | undefined): string {
  const config = wire?.config
  switch (config?.case) {
    case 'rsa':
      return `rsa ${nameIn(BITS, config.value.bits)} ${nameIn(HASHERS, config.value.hasher)}`
    case 'ecdsa':
      return `ecdsa ${nameIn(CURVES, config.value.curve)}`
    case 'ed25519':
      return 'ed25519'
    default:
      return ''
  }
}

function nameIn(names: Readonly<Record<string, number>>, value: number): string {
  return Object.entries(names).find(([, number]) => number === value)?.[0] ?? ''
}
