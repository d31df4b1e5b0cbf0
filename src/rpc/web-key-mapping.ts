/**
 * Between the messages of `iam.webkey.v2beta` and the domain, both ways.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  EcdsaCurve,
  RsaBits,
  RsaHasher,
  State,
  WebKeySchema,
  type WebKey as WireWebKey,
  type WebKeyConfig as WireWebKeyConfig,
} from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import {
  DEFAULT_WEB_KEY_CONFIG,
  type EcCurve,
  type Hash,
  type RsaBits as RsaBitCount,
  type WebKeyConfig,
} from '../domain/key-algorithm.ts'
import type { WebKey, WebKeyState } from '../domain/web-key.ts'

const STATES = {
  initial: State.INITIAL,
  active: State.ACTIVE,
  inactive: State.INACTIVE,
} as const satisfies Record<WebKeyState, State>

const BITS = {
  [RsaBits.RSA_BITS_UNSPECIFIED]: DEFAULT_WEB_KEY_CONFIG.bits,
  [RsaBits.RSA_BITS_2048]: 2048,
  [RsaBits.RSA_BITS_3072]: 3072,
  [RsaBits.RSA_BITS_4096]: 4096,
} as const satisfies Record<RsaBits, RsaBitCount>

const HASHERS = {
  [RsaHasher.UNSPECIFIED]: DEFAULT_WEB_KEY_CONFIG.hasher,
  [RsaHasher.SHA256]: 'sha256',
  [RsaHasher.SHA384]: 'sha384',
  [RsaHasher.SHA512]: 'sha512',
} as const satisfies Record<RsaHasher, Hash>

const CURVES = {
  [EcdsaCurve.P256]: 'P-256',
  [EcdsaCurve.P384]: 'P-384',
  [EcdsaCurve.P521]: 'P-521',
} as const satisfies Record<Exclude<EcdsaCurve, EcdsaCurve.UNSPECIFIED>, EcCurve>

/** The kind of key that a request asks for. The rules of the proto must have been checked. */
export function toWebKeyConfig(wire: WireWebKeyConfig | undefined): WebKeyConfig {
  const config = wire?.config
  switch (config?.case) {
    case 'rsa':
      return { kind: 'rsa', bits: BITS[config.value.bits], hasher: HASHERS[config.value.hasher] }
    case 'ecdsa':
      if (config.value.curve === EcdsaCurve.UNSPECIFIED) break
      return { kind: 'ecdsa', curve: CURVES[config.value.curve] }
    case 'ed25519':
      return { kind: 'ed25519' }
  }
  throw new Error('the rules of the proto have not been checked')
}

/** The state on the wire. */
export function fromState(state: WebKeyState): State {
  return STATES[state]
}

/** A web key on the wire (Spec §2.2). */
export function fromWebKey(key: WebKey): WireWebKey {
  return create(WebKeySchema, {
    keyId: key.keyId,
    algorithm: key.algorithm,
    state: fromState(key.state),
    creationDate: timestampFromDate(key.createdAt),
    ...(key.state === 'initial' ? {} : { activationDate: timestampFromDate(key.activatedAt) }),
    ...(key.state === 'inactive' ? { deactivationDate: timestampFromDate(key.deactivatedAt) } : {}),
  })
}
