/**
 * What has to be done next for keys to rotate as the policy says. Pure: the same ring, policy and time give the same step,
 * so every replica can ask, and ask again under the lock; no leader is needed.
 *
 * Keys that somebody has created or activated by hand count like any other: a rotation is due an interval after the last
 * activation, whoever made it, and an initial key of the wanted kind is the next one, whoever made it.
 */
import { configOf, isSameConfig, type WebKeyConfig } from './key-algorithm.ts'
import { activeKey, type KeyRing } from './key-ring.ts'
import { type RotationLimits, type RotationPolicy, type RotationTimes, timesOf } from './rotation-policy.ts'
import { after, earliest, latest } from './time.ts'
import { datesOf, type InactiveWebKey, type InitialWebKey, type WebKey } from './web-key.ts'

/** What is stored about rotation. */
export interface Rotation {
  readonly policy: RotationPolicy
  /** When somebody last asked for a rotation out of turn; null: never. Done once a key has been activated since. */
  readonly requestedAt: Date | null
}

/** One thing to do. */
export type RotationStep =
  | { readonly kind: 'create'; readonly config: WebKeyConfig }
  | { readonly kind: 'activate'; readonly keyId: string }
  | { readonly kind: 'destroy'; readonly keyId: string }
  | { readonly kind: 'delete'; readonly keyId: string }

/** A thing to do and its time. */
export interface PlannedStep {
  readonly at: Date
  readonly step: RotationStep
}

/**
 * How long after any change of the ring a standby key is made, at most: whoever is rotating by hand is not disturbed, and
 * nobody waits for a standby.
 */
const MAX_QUIET_SECONDS = 3600

/**
 * The next thing to do, now or later; undefined if there is nothing until something changes.
 *
 * A step whose time has come (`at <= now`) can be done at once, by whoever is first.
 */
export function nextStep(rotation: Rotation, ring: KeyRing, limits: RotationLimits): PlannedStep | undefined {
  const times = timesOf(rotation.policy, limits)
  const planned = [
    nextSigner(rotation, ring, { times, maxWebKeys: limits.maxWebKeys }),
    ...(rotation.policy.enabled ? ring.filter(isInactive).flatMap((key) => endOf(key, times)) : []),
  ].filter((step) => step !== undefined)
  return planned.reduce<PlannedStep | undefined>(
    (first, step) => (first === undefined || step.at < first.at ? step : first),
    undefined,
  )
}

/** The initial key that signs next; undefined if there is none of the kind that the policy wants. */
export function standbyOf(ring: KeyRing, { config }: RotationPolicy): InitialWebKey | undefined {
  return ring.find(
    (key): key is InitialWebKey =>
      key.state === 'initial' && isSameConfig(configOf(key.algorithm, key.publicJwk), config),
  )
}

/** When a rotation is due: undefined if none ever is. */
export function rotationDue({ policy, requestedAt }: Rotation, ring: KeyRing): Date | undefined {
  const active = activeKey(ring)
  if (active === undefined) return policy.enabled || requestedAt !== null ? new Date(0) : undefined
  if (requestedAt !== null && requestedAt > active.activatedAt) return requestedAt
  return policy.enabled ? after(active.activatedAt, policy.rotationIntervalSeconds) : undefined
}

function nextSigner(
  rotation: Rotation,
  ring: KeyRing,
  { times, maxWebKeys }: { readonly times: RotationTimes; readonly maxWebKeys: number },
): PlannedStep | undefined {
  const due = rotationDue(rotation, ring)
  if (due === undefined) return undefined
  const { policy } = rotation
  const standby = standbyOf(ring, policy)
  if (standby !== undefined) {
    const at = latest(due, after(standby.createdAt, times.known))
    return { at, step: { kind: 'activate', keyId: standby.keyId } }
  }
  // There is no room until a key is deleted, and that changes the ring.
  if (ring.length >= maxWebKeys) return undefined
  const inTime = after(due, -times.ahead)
  const early = policy.enabled && policy.keepStandby ? after(lastChange(ring), quietSeconds(times)) : inTime
  return { at: earliest(inTime, early), step: { kind: 'create', config: policy.config } }
}

function endOf(key: InactiveWebKey, { retention, rollback }: RotationTimes): PlannedStep[] {
  const deletion: PlannedStep = {
    at: after(key.deactivatedAt, retention),
    step: { kind: 'delete', keyId: key.keyId },
  }
  if (!key.hasPrivateKey || rollback >= retention) return [deletion]
  return [deletion, { at: after(key.deactivatedAt, rollback), step: { kind: 'destroy', keyId: key.keyId } }]
}

function quietSeconds({ ahead }: RotationTimes): number {
  return Math.min(ahead, MAX_QUIET_SECONDS)
}

function lastChange(ring: KeyRing): Date {
  return latest(new Date(0), ...ring.flatMap(datesOf))
}

function isInactive(key: WebKey): key is InactiveWebKey {
  return key.state === 'inactive'
}
