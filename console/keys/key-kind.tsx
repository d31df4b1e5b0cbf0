/**
 * The kinds of key, and the choice of one.
 */
import { create, equals, type MessageInitShape } from '@bufbuild/protobuf'
import {
  EcdsaCurve,
  RsaBits,
  RsaHasher,
  type WebKeyConfig,
  WebKeyConfigSchema,
} from '../../gen/iam/webkey/v2/web_key_pb.js'
import { type Bound, SelectField } from '../parts/fields.tsx'
import { sentence } from '../parts/page.tsx'

/** A kind of key. */
interface KeyKind {
  /** Unique. */
  readonly name: string
  readonly algorithm: string
  readonly config: WebKeyConfig
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

type Config = NonNullable<MessageInitShape<typeof WebKeyConfigSchema>['config']>

function kind(name: string, algorithm: string, config: Config): KeyKind {
  return { name, algorithm, config: create(WebKeyConfigSchema, { config }) }
}

/** Every kind, the most widely supported first. */
export const KEY_KINDS: readonly KeyKind[] = [
  ...HASHERS.flatMap(([hash, hasher]) =>
    BITS.map(([length, bits]) =>
      kind(`RSA ${length}, SHA-${hash}`, `RS${hash}`, { case: 'rsa', value: { bits, hasher } }),
    ),
  ),
  ...CURVES.map(([name, algorithm, curve]) => kind(`ECDSA ${name}`, algorithm, { case: 'ecdsa', value: { curve } })),
  kind('Ed25519', 'EdDSA', { case: 'ed25519', value: {} }),
]

/** The kind that a configuration is of. */
export function kindOf(wire: WebKeyConfig | undefined): KeyKind | undefined {
  return wire && KEY_KINDS.find(({ config }) => equals(WebKeyConfigSchema, config, wire))
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
        choices={KEY_KINDS.map(({ name, algorithm }) => [name, `${name} (${algorithm})`] as const)}
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
