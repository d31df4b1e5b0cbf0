/**
 * The kind of a key between the wire and the domain, both ways.
 *
 * `iam.webkey.v2beta`, `iam.webkey.v2` and the services for clients of ZITADEL have messages of their own with the same fields and
 * numbers, so one translation serves all; a test compares them.
 */
import { create } from '@bufbuild/protobuf'
import {
  EcdsaCurve,
  RsaBits,
  RsaHasher,
  WebKeyConfigSchema,
  type WebKeyConfig as WireWebKeyConfig,
} from '../../../gen/iam/webkey/v2/web_key_pb.js'
import {
  DEFAULT_WEB_KEY_CONFIG,
  type EcCurve,
  type Hash,
  type RsaBits as RsaBitCount,
  type WebKeyConfig,
} from '../../domain/keys/key-algorithm.ts'

/** The choice of a kind in the messages of every service, with enums as numbers. */
type WireKind =
  | { readonly case: 'rsa'; readonly value: { readonly bits: number; readonly hasher: number } }
  | { readonly case: 'ecdsa'; readonly value: { readonly curve: number } }
  | { readonly case: 'ed25519'; readonly value: object }

/** By number. An entry for "unspecified" is the default. */
const BITS: Readonly<Record<number, RsaBitCount>> = {
  [RsaBits.RSA_BITS_UNSPECIFIED]: DEFAULT_WEB_KEY_CONFIG.bits,
  [RsaBits.RSA_BITS_2048]: 2048,
  [RsaBits.RSA_BITS_3072]: 3072,
  [RsaBits.RSA_BITS_4096]: 4096,
}
const HASHERS: Readonly<Record<number, Hash>> = {
  [RsaHasher.UNSPECIFIED]: DEFAULT_WEB_KEY_CONFIG.hasher,
  [RsaHasher.SHA256]: 'sha256',
  [RsaHasher.SHA384]: 'sha384',
  [RsaHasher.SHA512]: 'sha512',
}
/** There is no default. */
const CURVES: Readonly<Record<number, EcCurve>> = {
  [EcdsaCurve.P256]: 'P-256',
  [EcdsaCurve.P384]: 'P-384',
  [EcdsaCurve.P521]: 'P-521',
}

const WIRE_BITS = {
  2048: RsaBits.RSA_BITS_2048,
  3072: RsaBits.RSA_BITS_3072,
  4096: RsaBits.RSA_BITS_4096,
} as const satisfies Record<RsaBitCount, RsaBits>
const WIRE_HASHERS = {
  sha256: RsaHasher.SHA256,
  sha384: RsaHasher.SHA384,
  sha512: RsaHasher.SHA512,
} as const satisfies Record<Hash, RsaHasher>
const WIRE_CURVES = {
  'P-256': EcdsaCurve.P256,
  'P-384': EcdsaCurve.P384,
  'P-521': EcdsaCurve.P521,
} as const satisfies Record<EcCurve, EcdsaCurve>

/** The kind of key that a request asks for. The rules of the proto must have been checked. */
export function toWebKeyConfig(
  wire: { readonly config: WireKind | { readonly case: undefined } } | undefined,
): WebKeyConfig {
  if (wire === undefined || wire.config.case === undefined) throw unchecked()
  return toKind(wire.config)
}

/** The kind of key that a choice stands for. The rules of the proto must have been checked. */
export function toKind(wire: WireKind): WebKeyConfig {
  switch (wire.case) {
    case 'rsa': {
      const bits = BITS[wire.value.bits]
      const hasher = HASHERS[wire.value.hasher]
      if (bits !== undefined && hasher !== undefined) return { kind: 'rsa', bits, hasher }
      break
    }
    case 'ecdsa': {
      const curve = CURVES[wire.value.curve]
      if (curve !== undefined) return { kind: 'ecdsa', curve }
      break
    }
    case 'ed25519':
      return { kind: 'ed25519' }
  }
  throw unchecked()
}

function unchecked(): Error {
  return new Error('the rules of the proto have not been checked')
}

/** The kind of a key as a message of `iam.webkey.v2`. */
export function fromWebKeyConfig(config: WebKeyConfig): WireWebKeyConfig {
  return create(WebKeyConfigSchema, { config: fromKind(config) })
}

/** The kind of a key as a choice of any of the services. */
export function fromKind(config: WebKeyConfig): WireKind {
  switch (config.kind) {
    case 'rsa':
      return { case: 'rsa', value: { bits: WIRE_BITS[config.bits], hasher: WIRE_HASHERS[config.hasher] } }
    case 'ecdsa':
      return { case: 'ecdsa', value: { curve: WIRE_CURVES[config.curve] } }
    case 'ed25519':
      return { case: 'ed25519', value: {} }
  }
}
