/**
 * The kind of a key on the command line: `rsa`, `ecdsa` or `ed25519`, with the options of the first two.
 */
import { EcdsaCurve, RsaBits, RsaHasher } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import { algorithmOf, DEFAULT_WEB_KEY_CONFIG } from '../../domain/keys/key-algorithm.ts'
import type { Api } from '../api.ts'
import { type Chosen, option, UsageError } from '../options.ts'

export const KINDS = ['rsa', 'ecdsa', 'ed25519'] as const

export type Kind = (typeof KINDS)[number]

const HASHERS = { SHA256: 'sha256', SHA384: 'sha384', SHA512: 'sha512' } as const
const CURVES = { P256: 'P-256', P384: 'P-384', P521: 'P-521' } as const

export const KIND_OPTIONS = {
  bits: option<'2048' | '3072' | '4096' | undefined>('--bits <bits>', 'length of an RSA key (default: 2048)').choices([
    '2048',
    '3072',
    '4096',
  ]),
  hasher: option<keyof typeof HASHERS | undefined>('--hasher <hash>', 'hash of an RSA key (default: SHA256)').choices(
    Object.keys(HASHERS),
  ),
  curve: option<keyof typeof CURVES | undefined>('--curve <curve>', 'curve of an ECDSA key (default: P256)').choices(
    Object.keys(CURVES),
  ),
}

type KindOptions = Chosen<typeof KIND_OPTIONS>

/** @throws {UsageError} if an option of another kind is given: it would be ignored. */
export function assertOptionsOfKind(kind: string | undefined, { bits, hasher, curve }: KindOptions): void {
  if (kind !== 'rsa' && (bits ?? hasher) !== undefined)
    throw new UsageError('--bits and --hasher are options of rsa keys')
  if (kind !== 'ecdsa' && curve !== undefined) throw new UsageError('--curve is an option of ecdsa keys')
}

/** A kind with its options, as the API takes it, and its algorithm. */
export function keyKindOf(kind: string, { bits = '2048', hasher = 'SHA256', curve = 'P256' }: KindOptions) {
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

/** What to ask before the first key of an algorithm, which verifiers may not support. Undefined: there is one already. */
export async function algorithmQuestion(api: Api, kind: string, options: KindOptions): Promise<string | undefined> {
  const { webKeys } = await api.call(WebKeyService.method.listWebKeys, {})
  const warnings = algorithmWarnings(keyKindOf(kind, options).algorithm, webKeys)
  return warnings.length === 0 ? undefined : `${warnings.join('\n')}\nGo on?`
}
