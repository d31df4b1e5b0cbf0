/**
 * The kind of a key on the command line: `rsa`, `ecdsa` or `ed25519`, with the options of the first two.
 */
import type { Command } from 'commander'
import { EcdsaCurve, RsaBits, RsaHasher, type WebKeyConfig } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import { algorithmOf, DEFAULT_WEB_KEY_CONFIG } from '../../domain/keys/key-algorithm.ts'
import type { Api } from '../api.ts'
import { confirm } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type Chosen, option, UsageError, yesOption } from '../options.ts'
import { printWarnings } from '../output.ts'

export const KINDS = ['rsa', 'ecdsa', 'ed25519'] as const

export type Kind = (typeof KINDS)[number]

const HASHERS = { SHA256: 'sha256', SHA384: 'sha384', SHA512: 'sha512' } as const
const CURVES = { P256: 'P-256', P384: 'P-384', P521: 'P-521' } as const

/** The options of all kinds, and the one that confirms. */
export const KIND_OPTIONS = {
  bits: option<'2048' | '3072' | '4096'>('--bits <bits>', 'length of an RSA key')
    .choices(['2048', '3072', '4096'])
    .default('2048'),
  hasher: option<keyof typeof HASHERS>('--hasher <hash>', 'hash of an RSA key')
    .choices(Object.keys(HASHERS))
    .default('SHA256'),
  curve: option<keyof typeof CURVES>('--curve <curve>', 'curve of an ECDSA key')
    .choices(Object.keys(CURVES))
    .default('P256'),
  yes: yesOption('do not ask before the first key of an algorithm'),
}

type KindOptions = Chosen<typeof KIND_OPTIONS>

/** The options by the kind that they belong to. */
const OPTIONS_OF: Readonly<Record<Kind, readonly string[]>> = { rsa: ['bits', 'hasher'], ecdsa: ['curve'], ed25519: [] }

/** @param kind Undefined: none is named. @throws {UsageError} if an option of another kind is given: it would be ignored. */
export function assertOptionsOfKind(command: Command, kind: Kind | undefined): void {
  const own = kind === undefined ? [] : OPTIONS_OF[kind]
  const all = Object.values(OPTIONS_OF).flat()
  const [foreign] = all.filter((name) => command.getOptionValueSource(name) === 'cli' && !own.includes(name))
  if (foreign === undefined) return
  if (kind === undefined) throw new UsageError('--bits, --hasher and --curve need --kind, whose options they are')
  const owner = KINDS.find((candidate) => OPTIONS_OF[candidate].includes(foreign))
  throw new UsageError(`--${foreign} is an option of ${owner} keys, and this is a key of the kind ${kind}`)
}

/** A kind with its options, as the API takes it, and its algorithm. */
export function keyKindOf(kind: string, { bits, hasher, curve }: KindOptions) {
  switch (kind) {
    case 'ecdsa': {
      const config = { case: 'ecdsa', value: { curve: EcdsaCurve[curve] } } as const
      return { algorithm: algorithmOf({ kind, curve: CURVES[curve] }), config: { config } }
    }
    case 'ed25519':
      return { algorithm: algorithmOf({ kind }), config: { config: { case: 'ed25519', value: {} } } } as const
    default: {
      const config = { case: 'rsa', value: { bits: RsaBits[`RSA_BITS_${bits}`], hasher: RsaHasher[hasher] } } as const
      return { algorithm: algorithmOf({ ...DEFAULT_WEB_KEY_CONFIG, hasher: HASHERS[hasher] }), config: { config } }
    }
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
  { io, api, options }: { readonly io: Io; readonly api: Api; readonly options: KindOptions },
  question: string,
): Promise<readonly string[]> {
  if (options.yes === true || !io.isTerminal) return []
  const { webKeys } = await api.call(WebKeyService.method.listWebKeys, {})
  const warnings = algorithmWarnings(keyKindOf(kind, options).algorithm, webKeys)
  if (warnings.length === 0) return []
  printWarnings(io, warnings)
  await confirm(io, {}, question)
  return warnings
}

/** A configuration as text, for example `rsa 2048 SHA256`. */
export function formatKind({ config }: Pick<WebKeyConfig, 'config'>): string {
  switch (config.case) {
    case 'rsa':
      return `rsa ${RsaBits[config.value.bits]?.replace('RSA_BITS_', '')} ${RsaHasher[config.value.hasher]}`
    case 'ecdsa':
      return `ecdsa ${EcdsaCurve[config.value.curve]}`
    default:
      return config.case ?? ''
  }
}
