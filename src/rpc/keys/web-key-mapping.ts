/**
 * Web keys, the rotation policy and its steps as messages of `iam.webkey.v2`.
 */
import { create } from '@bufbuild/protobuf'
import { type Duration, timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  RotationPolicySchema,
  RotationStepKind,
  RotationStepSchema,
  type RotationPolicy as WireRotationPolicy,
  type RotationStep as WireRotationStep,
} from '../../../gen/iam/webkey/v2/rotation_pb.js'
import { WebKeySchema, WebKeyState, type WebKey as WireWebKey } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { configOf } from '../../domain/keys/key-algorithm.ts'
import type { PlannedStep, RotationStep } from '../../domain/keys/rotation.ts'
import type { RotationPolicy } from '../../domain/keys/rotation-policy.ts'
import type { RevokedWebKey, WebKey } from '../../domain/keys/web-key.ts'
import { fromDate, fromSeconds, toSeconds } from '../messages/fields.ts'
import { invalidField } from '../messages/violations.ts'
import { fromWebKeyConfig, toWebKeyConfig } from './web-key-config.ts'

type AnyWebKey = WebKey | RevokedWebKey

const STATES = {
  initial: WebKeyState.INITIAL,
  active: WebKeyState.ACTIVE,
  inactive: WebKeyState.INACTIVE,
  revoked: WebKeyState.REVOKED,
} as const satisfies Record<AnyWebKey['state'], WebKeyState>

const KINDS = {
  create: RotationStepKind.CREATE,
  activate: RotationStepKind.ACTIVATE,
  destroy: RotationStepKind.DESTROY_PRIVATE_KEY,
  delete: RotationStepKind.DELETE,
} as const satisfies Record<RotationStep['kind'], RotationStepKind>

/** The durations of a policy, by their names on the wire. */
const DURATIONS = {
  rotation_interval: 'rotationIntervalSeconds',
  publish_ahead: 'publishAheadSeconds',
  retention: 'retentionSeconds',
  rollback_window: 'rollbackWindowSeconds',
} as const satisfies Record<string, keyof RotationPolicy>

/** The fields of a policy that an update mask may name. */
export const POLICY_PATHS = [
  'enabled',
  'config',
  'rotation_interval',
  'publish_ahead',
  'retention',
  'rollback_window',
  'keep_standby',
] as const

export function fromWebKey(key: AnyWebKey): WireWebKey {
  return create(WebKeySchema, {
    keyId: key.keyId,
    algorithm: key.algorithm,
    config: fromWebKeyConfig(configOf(key.algorithm, key.publicJwk)),
    state: STATES[key.state],
    creationDate: timestampFromDate(key.createdAt),
    ...fromDate('activationDate', 'activatedAt' in key ? key.activatedAt : null),
    ...fromDate('deactivationDate', 'deactivatedAt' in key ? key.deactivatedAt : null),
    ...fromDate('revocationDate', key.state === 'revoked' ? key.revokedAt : null),
    hasPrivateKey: hasPrivateKey(key),
    ...fromDate('publicationDate', key.state === 'initial' ? key.publishedAt : null),
  })
}

/** Whether a key is in one of these states; an empty list means all states but revoked. */
export function isListed(key: AnyWebKey, states: readonly WebKeyState[]): boolean {
  return states.length === 0 ? key.state !== 'revoked' : states.includes(STATES[key.state])
}

export function fromPolicy(policy: RotationPolicy): WireRotationPolicy {
  return create(RotationPolicySchema, {
    enabled: policy.enabled,
    config: fromWebKeyConfig(policy.config),
    rotationInterval: fromSeconds(policy.rotationIntervalSeconds),
    publishAhead: fromSeconds(policy.publishAheadSeconds),
    retention: fromSeconds(policy.retentionSeconds),
    rollbackWindow: fromSeconds(policy.rollbackWindowSeconds),
    keepStandby: policy.keepStandby,
  })
}

/**
 * The settings that an update changes.
 *
 * @throws {ConnectError} `invalid_argument` if a named field is missing, or a duration is not in whole seconds.
 */
export function toPolicyChanges(
  wire: WireRotationPolicy,
  paths: ReadonlySet<(typeof POLICY_PATHS)[number]>,
): Partial<RotationPolicy> {
  const durations: Record<keyof typeof DURATIONS, Duration | undefined> = {
    rotation_interval: wire.rotationInterval,
    publish_ahead: wire.publishAhead,
    retention: wire.retention,
    rollback_window: wire.rollbackWindow,
  }
  const seconds = Object.entries(DURATIONS)
    .filter(([field]) => paths.has(field as keyof typeof DURATIONS))
    .map(([field, name]) => [name, requiredSeconds(durations[field as keyof typeof DURATIONS], field)])
  if (paths.has('config') && wire.config === undefined) throw invalidField('policy.config', 'must be set')
  return {
    ...Object.fromEntries(seconds),
    ...(paths.has('enabled') ? { enabled: wire.enabled } : {}),
    ...(paths.has('keep_standby') ? { keepStandby: wire.keepStandby } : {}),
    ...(paths.has('config') ? { config: toWebKeyConfig(wire.config) } : {}),
  }
}

export function fromPlannedStep({ at, step }: PlannedStep): WireRotationStep {
  return create(RotationStepSchema, {
    date: timestampFromDate(at),
    kind: KINDS[step.kind],
    keyId: 'keyId' in step ? step.keyId : '',
  })
}

function hasPrivateKey(key: AnyWebKey): boolean {
  switch (key.state) {
    case 'initial':
    case 'active':
      return true
    case 'inactive':
      return key.hasPrivateKey
    case 'revoked':
      return false
  }
}

function requiredSeconds(duration: Duration | undefined, field: string): number {
  if (duration === undefined) throw invalidField(`policy.${field}`, 'must be set')
  return toSeconds(duration, `policy.${field}`)
}
