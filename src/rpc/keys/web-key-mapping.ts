/**
 * Web keys, their kinds, the rotation policy and its steps between the wire and the domain.
 *
 * `iam.webkey.v2beta`, `iam.webkey.v2` and the services for clients of ZITADEL have messages of their own with the same fields and
 * numbers for kinds of keys, so one translation serves all; a test compares them.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type Duration, type FieldMask, timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  RotationStepKind,
  type RotationStepSchema,
  type RotationPolicy as WireRotationPolicy,
} from '../../../gen/iam/webkey/v2/rotation_pb.js'
import {
  EcdsaCurve,
  RsaBits,
  RsaHasher,
  WebKeyConfigSchema,
  type WebKeySchema,
  WebKeyState,
  type WebKeyConfig as WireWebKeyConfig,
} from '../../../gen/iam/webkey/v2/web_key_pb.js'
import {
  configOf,
  DEFAULT_WEB_KEY_CONFIG,
  type EcCurve,
  type Hash,
  type RsaBits as RsaBitCount,
  type WebKeyConfig,
} from '../../domain/keys/key-algorithm.ts'
import type { PlannedStep, RotationStep } from '../../domain/keys/rotation.ts'
import type { RotationPolicy } from '../../domain/keys/rotation-policy.ts'
import type { RevokedWebKey, WebKey } from '../../domain/keys/web-key.ts'
import { fromDate, fromSeconds, maskedBy, nameOf, toSeconds } from '../messages/fields.ts'
import { invalidField } from '../messages/violations.ts'

type AnyWebKey = WebKey | RevokedWebKey

/** The choice of a kind in the messages of every service, with enums as numbers. 0 is the default, which curves have none of. */
type WireKind =
  | { readonly case: 'rsa'; readonly value: { readonly bits: number; readonly hasher: number } }
  | { readonly case: 'ecdsa'; readonly value: { readonly curve: number } }
  | { readonly case: 'ed25519'; readonly value: object }

const BITS = {
  2048: RsaBits.RSA_BITS_2048,
  3072: RsaBits.RSA_BITS_3072,
  4096: RsaBits.RSA_BITS_4096,
} as const satisfies Record<RsaBitCount, RsaBits>

const CURVES = {
  'P-256': EcdsaCurve.P256,
  'P-384': EcdsaCurve.P384,
  'P-521': EcdsaCurve.P521,
} as const satisfies Record<EcCurve, EcdsaCurve>

const KINDS = {
  create: RotationStepKind.CREATE,
  activate: RotationStepKind.ACTIVATE,
  destroy: RotationStepKind.DESTROY_PRIVATE_KEY,
  delete: RotationStepKind.DELETE,
} as const satisfies Record<RotationStep['kind'], RotationStepKind>

/** The kind of key that a request asks for. The rules of the proto must have been checked. */
export function toWebKeyConfig(
  wire: { readonly config: WireKind | { readonly case: undefined } } | undefined,
): WebKeyConfig {
  if (wire?.config.case === undefined) throw new Error('the rules of the proto have not been checked')
  return toKind(wire.config)
}

/** The kind of key that a choice stands for. The rules of the proto must have been checked. */
export function toKind(wire: WireKind): WebKeyConfig {
  switch (wire.case) {
    case 'rsa': {
      const { bits, hasher } = wire.value
      const standard = DEFAULT_WEB_KEY_CONFIG
      return {
        kind: 'rsa',
        bits: bits === 0 ? standard.bits : (Number(nameOf(BITS as Record<string, RsaBits>, bits)) as RsaBitCount),
        hasher: hasher === 0 ? standard.hasher : (RsaHasher[hasher]?.toLowerCase() as Hash),
      }
    }
    case 'ecdsa':
      return { kind: 'ecdsa', curve: nameOf(CURVES, wire.value.curve) }
    case 'ed25519':
      return { kind: 'ed25519' }
  }
}

/** The kind of a key as a message of `iam.webkey.v2`. */
function fromWebKeyConfig(config: WebKeyConfig): WireWebKeyConfig {
  return create(WebKeyConfigSchema, { config: fromKind(config) })
}

/** The kind of a key as a choice of any of the services. */
export function fromKind(config: WebKeyConfig): WireKind {
  switch (config.kind) {
    case 'rsa':
      return {
        case: 'rsa',
        value: { bits: BITS[config.bits], hasher: RsaHasher[config.hasher.toUpperCase() as Uppercase<Hash>] },
      }
    case 'ecdsa':
      return { case: 'ecdsa', value: { curve: CURVES[config.curve] } }
    case 'ed25519':
      return { case: 'ed25519', value: {} }
  }
}

/** The number of a key's state, which every service has for it. */
export function stateOf({ state }: AnyWebKey): number {
  return WebKeyState[state.toUpperCase() as Uppercase<typeof state>]
}

export function fromWebKey(key: AnyWebKey): MessageInitShape<typeof WebKeySchema> {
  return {
    keyId: key.keyId,
    algorithm: key.algorithm,
    config: fromWebKeyConfig(configOf(key.algorithm, key.publicJwk)),
    state: stateOf(key),
    creationDate: timestampFromDate(key.createdAt),
    ...fromDate('activationDate', 'activatedAt' in key ? key.activatedAt : null),
    ...fromDate('deactivationDate', 'deactivatedAt' in key ? key.deactivatedAt : null),
    ...fromDate('revocationDate', key.state === 'revoked' ? key.revokedAt : null),
    hasPrivateKey: key.state === 'inactive' ? key.hasPrivateKey : key.state !== 'revoked',
    ...fromDate('publicationDate', key.state === 'initial' ? key.publishedAt : null),
  }
}

/** Whether a key is in one of these states; an empty list means all states but revoked. */
export function isListed(key: AnyWebKey, states: readonly WebKeyState[]): boolean {
  return states.length === 0 ? key.state !== 'revoked' : states.includes(stateOf(key))
}

export function fromPolicy(policy: RotationPolicy) {
  return {
    enabled: policy.enabled,
    config: fromWebKeyConfig(policy.config),
    rotationInterval: fromSeconds(policy.rotationIntervalSeconds),
    publishAhead: fromSeconds(policy.publishAheadSeconds),
    retention: fromSeconds(policy.retentionSeconds),
    rollbackWindow: fromSeconds(policy.rollbackWindowSeconds),
    keepStandby: policy.keepStandby,
  }
}

/**
 * The settings that an update changes.
 *
 * @throws {ConnectError} `invalid_argument` if the policy or a named field is missing, or a duration is not in whole seconds.
 */
export function toPolicyChanges(
  wire: WireRotationPolicy | undefined,
  mask: FieldMask | undefined,
): Partial<RotationPolicy> {
  const policy = present(wire, 'policy')
  const seconds = (duration: Duration | undefined, name: string) => {
    const field = `policy.${name}`
    return toSeconds(present(duration, field), field)
  }
  return maskedBy<Partial<RotationPolicy>>(mask, {
    enabled: () => ({ enabled: policy.enabled }),
    config: () => ({ config: toWebKeyConfig(present(policy.config, 'policy.config')) }),
    rotation_interval: () => ({ rotationIntervalSeconds: seconds(policy.rotationInterval, 'rotation_interval') }),
    publish_ahead: () => ({ publishAheadSeconds: seconds(policy.publishAhead, 'publish_ahead') }),
    retention: () => ({ retentionSeconds: seconds(policy.retention, 'retention') }),
    rollback_window: () => ({ rollbackWindowSeconds: seconds(policy.rollbackWindow, 'rollback_window') }),
    keep_standby: () => ({ keepStandby: policy.keepStandby }),
  })
}

function present<Value>(value: Value | undefined, field: string): Value {
  if (value === undefined) throw invalidField(field, 'must be set')
  return value
}

export function fromPlannedStep({ at, step }: PlannedStep): MessageInitShape<typeof RotationStepSchema> {
  return { date: timestampFromDate(at), kind: KINDS[step.kind], keyId: 'keyId' in step ? step.keyId : '' }
}
