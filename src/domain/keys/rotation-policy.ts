/**
 * The rotation policy of an instance (Spec §4.3, "Recommended rotation sequence"), and the rules that protect verifiers.
 */
import { DomainError } from '../errors.ts'
import { DEFAULT_WEB_KEY_CONFIG, isSameConfig, type WebKeyConfig } from './key-algorithm.ts'

/** Times are in whole seconds. */
export interface RotationPolicy {
  /** Whether keys rotate by themselves. */
  readonly enabled: boolean
  readonly config: WebKeyConfig
  /** How long a key signs. Default 90 days (Spec §4.3). */
  readonly rotationIntervalSeconds: number
  /** How long before it signs a key is published, at least. Default 7 days. */
  readonly publishAheadSeconds: number
  /** How long a key stays published after it has signed. Default 7 days. */
  readonly retentionSeconds: number
  /** How long after it has signed a key can be activated again; then its private key is destroyed. Default 7 days. */
  readonly rollbackWindowSeconds: number
  /** Whether the next key is always published already, so that an emergency needs no wait. Default true. */
  readonly keepStandby: boolean
}

/** The settings that limit the policy. They are the same for all replicas. */
export interface RotationLimits {
  /** How long clients may reuse the key set, in seconds (Spec §8). */
  readonly jwksMaxAgeSeconds: number
  /** The longest lifetime of a token, in seconds. */
  readonly tokenLifetimeSeconds: number
  /** How long a replica goes on without the database, in seconds. */
  readonly maxStalenessSeconds: number
  readonly maxWebKeys: number
}

/** The effective times, in seconds. */
export interface RotationTimes {
  readonly interval: number
  /** How long before its turn a key is created. */
  readonly ahead: number
  /** How long after its publication a key may sign if its turn has come already. */
  readonly known: number
  readonly retention: number
  readonly rollback: number
}

const DAY = 86_400

export const MAX_POLICY_SECONDS = 3650 * DAY

/** A replica that reaches the database knows of a change within a second; twice that is on the safe side. */
const PROPAGATION_SECONDS = 2

/** The policy of a new instance. */
export const DEFAULT_ROTATION_POLICY: RotationPolicy = {
  enabled: true,
  config: DEFAULT_WEB_KEY_CONFIG,
  rotationIntervalSeconds: 90 * DAY,
  publishAheadSeconds: 7 * DAY,
  retentionSeconds: 7 * DAY,
  rollbackWindowSeconds: 7 * DAY,
  keepStandby: true,
}

/**
 * Refuses a policy that would break a verifier, that contradicts itself, or that needs more keys than allowed.
 *
 * @param before The policy that it replaces. What the settings of the replicas forbid is not checked of unchanged fields, because the settings may have
 * changed since, and rotation must always be possible to switch off. Everything is checked when rotation is switched on.
 * @throws {DomainError} `rotation_policy_invalid`, with the name of the setting as metadata `field`.
 */
export function assertPolicy(policy: RotationPolicy, limits: RotationLimits, before?: RotationPolicy): void {
  const { rotationIntervalSeconds, publishAheadSeconds, retentionSeconds, rollbackWindowSeconds } = policy
  assertWholeSeconds('rotation_interval', rotationIntervalSeconds)
  assertWholeSeconds('publish_ahead', publishAheadSeconds)
  assertWholeSeconds('retention', retentionSeconds)
  assertWholeSeconds('rollback_window', rollbackWindowSeconds)
  const isWhole = before === undefined || (policy.enabled && !before.enabled)
  const changes = (...fields: readonly (keyof RotationPolicy)[]): boolean =>
    isWhole || fields.some((field) => policy[field] !== before[field])
  const { jwksMaxAgeSeconds, tokenLifetimeSeconds } = limits
  if (changes('publishAheadSeconds'))
    assertAtLeast('publish_ahead', publishAheadSeconds, {
      least: jwksMaxAgeSeconds,
      why: 'the cache time of the key set (KEYTURN_JWKS_MAX_AGE): verifiers must know a key before it signs',
    })
  if (changes('retentionSeconds'))
    assertAtLeast('retention', retentionSeconds, {
      least: tokenLifetimeSeconds + jwksMaxAgeSeconds,
      why: 'KEYTURN_TOKEN_LIFETIME and KEYTURN_JWKS_MAX_AGE together: every token of a key must verify until it expires',
    })
  if (changes('rotationIntervalSeconds', 'publishAheadSeconds'))
    assertAtLeast('rotation_interval', rotationIntervalSeconds, {
      least: Math.max(1, publishAheadSeconds),
      why: 'publish_ahead: otherwise a key would be published before its predecessor signs',
    })
  if (changes('rotationIntervalSeconds', 'publishAheadSeconds', 'retentionSeconds', 'keepStandby'))
    assertKeysFit(policy, limits)
}

/** The policy with some settings changed: the same object if that makes no difference. */
export function changed(policy: RotationPolicy, changes: Partial<RotationPolicy>): RotationPolicy {
  const next = { ...policy, ...changes }
  const names = Object.keys(next) as (keyof RotationPolicy)[]
  const isSame = names.every((name) =>
    name === 'config' ? isSameConfig(next.config, policy.config) : next[name] === policy[name],
  )
  return isSame ? policy : next
}

/**
 * The effective times of a policy. If the settings have changed since the policy was checked, the settings take precedence.
 */
export function timesOf(policy: RotationPolicy, limits: RotationLimits): RotationTimes {
  const known = knownAfterSeconds(policy, limits)
  const retention = Math.max(
    policy.retentionSeconds,
    neededAfterSeconds(limits),
    limits.tokenLifetimeSeconds + limits.jwksMaxAgeSeconds + PROPAGATION_SECONDS,
  )
  return {
    interval: policy.rotationIntervalSeconds,
    ahead: Math.max(policy.publishAheadSeconds, known),
    known,
    retention,
    rollback: policy.rollbackWindowSeconds,
  }
}

/** How long after its publication a key may sign if its turn has come already, in seconds. */
export function knownAfterSeconds(
  { publishAheadSeconds }: Pick<RotationPolicy, 'publishAheadSeconds'>,
  { jwksMaxAgeSeconds: cached, maxStalenessSeconds }: Pick<RotationLimits, 'jwksMaxAgeSeconds' | 'maxStalenessSeconds'>,
): number {
  // A replica that is cut off publishes what it knows for as long as it may, so waiting that long as well is safest. A
  // policy that publishes keys for a shorter time than that has decided otherwise.
  return Math.max(cached + PROPAGATION_SECONDS, Math.min(publishAheadSeconds, cached + maxStalenessSeconds))
}

/** How long after a key has stopped signing a token that it signed may be valid, in seconds. */
export function neededAfterSeconds({
  tokenLifetimeSeconds,
  maxStalenessSeconds,
}: Pick<RotationLimits, 'tokenLifetimeSeconds' | 'maxStalenessSeconds'>): number {
  // A replica that is cut off signs on with the key that it knows, and what it signs lives from then on.
  return tokenLifetimeSeconds + maxStalenessSeconds + PROPAGATION_SECONDS
}

/**
 * How many keys there are at most when keys rotate in time: those that are kept after they have signed, the active one, and
 * the next one, which is created right after a rotation if a standby is kept.
 */
function keysNeeded(policy: RotationPolicy, limits: RotationLimits): number {
  const { interval, ahead, retention } = timesOf(policy, limits)
  const published = policy.keepStandby ? interval : Math.min(ahead, interval)
  return Math.ceil((retention + published) / interval) + 1
}

function assertKeysFit(policy: RotationPolicy, limits: RotationLimits): void {
  const needed = keysNeeded(policy, limits)
  if (needed <= limits.maxWebKeys) return
  // If the settings of the replicas keep the keys for longer than the policy asks for, a shorter retention does not help.
  const field = timesOf(policy, limits).retention > policy.retentionSeconds ? 'rotation_interval' : 'retention'
  throw invalid(
    field,
    `there would be ${needed} web keys at a time and at most ${limits.maxWebKeys} are allowed (KEYTURN_MAX_WEB_KEYS): ` +
      'make retention shorter or rotation_interval longer',
  )
}

function assertWholeSeconds(field: string, value: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= MAX_POLICY_SECONDS) return
  throw invalid(field, `${field} must be a whole number of seconds from 0 to ${MAX_POLICY_SECONDS}`)
}

function assertAtLeast(
  field: string,
  value: number,
  { least, why }: { readonly least: number; readonly why: string },
): void {
  if (value < least) throw invalid(field, `${field} must be at least ${least} s, which is ${why}`)
}

function invalid(field: string, message: string): DomainError {
  return new DomainError('rotation_policy_invalid', message, { metadata: { field } })
}
