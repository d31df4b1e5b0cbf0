/**
 * The kind of a key on the command line: `rsa`, `ecdsa` or `ed25519`, with the options of the first two.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { EcdsaCurve, RsaBits, RsaHasher, type WebKeyConfigSchema } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import type { KeyAlgorithm } from '../../domain/keys/key-algorithm.ts'
import type { Api } from '../api.ts'
import { type Chosen, choice, UsageError } from '../options.ts'

export const KINDS = ['rsa', 'ecdsa', 'ed25519'] as const

export type Kind = (typeof KINDS)[number]

const BITS = ['2048', '3072', '4096'] as const
const HASHERS = ['SHA256', 'SHA384', 'SHA512'] as const
const CURVES = ['P256', 'P384', 'P521'] as const

export const KIND_OPTIONS = {
  bits: choice('--bits <bits>', 'length of an RSA key (default: 2048)', BITS),
  hasher: choice('--hasher <hash>', 'hash of an RSA key (default: SHA256)', HASHERS),
  curve: choice('--curve <curve>', 'curve of an ECDSA key (default: P256)', CURVES),
}

type KindOptions = Chosen<typeof KIND_OPTIONS>

/** @throws {UsageError} if an option of another kind is given: it would be ignored. */
export function assertOptionsOfKind(kind: string | undefined, { bits, hasher, curve }: KindOptions): void {
  if (kind !== 'rsa' && (bits ?? hasher) !== undefined)
    throw new UsageError('--bits and --hasher are options of rsa keys')
  if (kind !== 'ecdsa' && curve !== undefined) throw new UsageError('--curve is an option of ecdsa keys')
}

/** A kind with its options, as the API takes it. */
export function configOf(
  kind: string,
  { bits = '2048', hasher = 'SHA256', curve = 'P256' }: KindOptions,
): MessageInitShape<typeof WebKeyConfigSchema> {
  if (kind === 'ecdsa') return { config: { case: 'ecdsa', value: { curve: EcdsaCurve[curve] } } }
  if (kind === 'ed25519') return { config: { case: 'ed25519', value: {} } }
  return { config: { case: 'rsa', value: { bits: RsaBits[`RSA_BITS_${bits}`], hasher: RsaHasher[hasher] } } }
}

/** What to ask before the first key of an algorithm, which verifiers may not support. Undefined: there is one already. */
export async function algorithmQuestion(
  api: Api,
  kind: string,
  { hasher = 'SHA256', curve = 'P256' }: KindOptions,
): Promise<string | undefined> {
  const algorithms = {
    rsa: `RS${hasher.slice(3)}`,
    ecdsa: curve === 'P521' ? 'ES512' : `ES${curve.slice(1)}`,
    ed25519: 'EdDSA',
  }
  const { webKeys } = await api.call(WebKeyService.method.listWebKeys, {})
  const warnings = algorithmWarnings(algorithms[kind as Kind] as KeyAlgorithm, webKeys)
  return warnings.length === 0 ? undefined : `${warnings.join('\n')}\nGo on?`
}
