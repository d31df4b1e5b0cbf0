/**
 * The kinds of key, and the choice of one.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  EcdsaCurve,
  RsaBits,
  RsaHasher,
  type WebKeyConfig,
  type WebKeyConfigSchema,
} from '../../gen/iam/webkey/v2/web_key_pb.js'
import { type Bound, SelectField } from '../parts/fields.tsx'
import { sentence } from '../parts/page.tsx'

/** A kind of key. */
export interface KeyKind {
  /** For a form. */
  readonly id: string
  readonly name: string
  readonly algorithm: string
  readonly config: MessageInitShape<typeof WebKeyConfigSchema>
}

const BITS = [
  [2048, RsaBits.RSA_BITS_2048],
  [3072, RsaBits.RSA_BITS_3072],
  [4096, RsaBits.RSA_BITS_4096],
] as const
const HASHERS = [
  [256, RsaHasher.SHA256],
  [384, RsaHasher.SHA384],
  [512, RsaHasher.SHA512],
] as const
const CURVES = [
  ['P-256', 'ES256', EcdsaCurve.P256],
  ['P-384', 'ES384', EcdsaCurve.P384],
  ['P-521', 'ES512', EcdsaCurve.P521],
] as const

/** Every kind, the most widely supported first. */
export const KEY_KINDS: readonly KeyKind[] = [
  ...HASHERS.flatMap(([hash, hasher]) =>
    BITS.map(([length, bits]) => ({
      id: `rsa-${length}-${hash}`,
      name: `RSA ${length}, SHA-${hash}`,
      algorithm: `RS${hash}`,
      config: { config: { case: 'rsa' as const, value: { bits, hasher } } },
    })),
  ),
  ...CURVES.map(([name, algorithm, curve]) => ({
    id: `ecdsa-${name}`,
    name: `ECDSA ${name}`,
    algorithm,
    config: { config: { case: 'ecdsa' as const, value: { curve } } },
  })),
  { id: 'ed25519', name: 'Ed25519', algorithm: 'EdDSA', config: { config: { case: 'ed25519', value: {} } } },
]

/** The kind that a configuration is of. */
export function kindOf(wire: WebKeyConfig | undefined): KeyKind | undefined {
  return KEY_KINDS.find(({ config }) => isSame(config, wire))
}

function isSame({ config: a }: KeyKind['config'], wire: WebKeyConfig | undefined): boolean {
  const b = wire?.config
  if (a?.case === 'rsa') return b?.case === 'rsa' && a.value.bits === b.value.bits && a.value.hasher === b.value.hasher
  if (a?.case === 'ecdsa') return b?.case === 'ecdsa' && a.value.curve === b.value.curve
  return b?.case === a?.case
}

interface KindChoiceProps extends Bound<string> {
  /** What is known to happen at verifiers when it is the first of its algorithm. */
  readonly warnings: readonly string[]
}

export function KindChoice({ warnings, ...field }: KindChoiceProps) {
  return (
    <>
      <SelectField
        label="Kind of key"
        choices={KEY_KINDS.map(({ id, name, algorithm }) => [id, `${name} (${algorithm})`] as const)}
        {...field}
      />
      <div aria-live="polite">
        {warnings.length > 0 && (
          <div class="notice is-warning">
            <p>
              <strong>The first key of an algorithm can stop verifiers.</strong>
            </p>
            <ul>
              {warnings.map((warning) => (
                <li key={warning}>{sentence(warning)}</li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </>
  )
}
