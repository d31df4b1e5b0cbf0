/**
 * The next steps for keys to rotate as the policy says. Pure: the same ring, policy and time give the same step, so every replica
 * can decide, and decide again under the lock. No leader is needed.
 *
 * Keys that were created or activated by hand count like any other. A rotation is due an interval after the last activation, and an
 * initial key of the wanted kind is the next to sign.
 */

import { after, earliest, latest } from '../time.ts'
import { configOf, isSameConfig, type WebKeyConfig } from './key-algorithm.ts'
import { activeKey, type Decryptability, type KeyRing } from './key-ring.ts'
import { publishedFor } from './publication.ts'
import { type RotationLimits, type RotationPolicy, type RotationTimes, timesOf } from './rotation-policy.ts'
import { datesOf, type InactiveWebKey, type InitialWebKey, type WebKey } from './web-key.ts'

export interface Rotation {
  readonly policy: RotationPolicy
  /** When a rotation out of turn was last requested; null: never. Done once a key has been activated since. */
  readonly requestedAt: Date | null
}

export type RotationStep =
  | { readonly kind: 'create'; readonly config: WebKeyConfig }
  | { readonly kind: 'activate'; readonly keyId: string }
  | { readonly kind: 'destroy'; readonly keyId: string }
  | { readonly kind: 'delete'; readonly keyId: string }

export interface PlannedStep {
  readonly at: Date
  readonly step: RotationStep
}

/**
 * The longest delay of a standby key after a change of the ring. The delay keeps out of the way of a rotation by hand, and a standby is
 * not urgent.
 */
const MAX_QUIET_SECONDS = 3600

/**
 * The steps that are known now, due or later, in order, without those that follow from them. Any replica can make those that are due
 * (`at <= now`), in any order: a key that cannot be created must not delay the destruction of a private key.
 */
export function plannedSteps(
  rotation: Rotation,
  ring: KeyRing,
  limits: RotationLimits & Decryptability,
): readonly PlannedStep[] {
  const times = timesOf(rotation.policy, limits)
  return [
    nextSigner(rotation, ring, { ...limits, times }),
    ...(rotation.policy.enabled ? ring.filter(isInactive).flatMap((key) => endOf(key, times)) : []),
  ]
    .filter((step) => step !== undefined)
    .sort((a, b) => a.at.getTime() - b.at.getTime())
}

/**
 * The creation of a key for which there is no room, if no deletion makes room before a rotation is due. An operator has to delete a
 * key. At the time of the step nothing is lost yet.
 */
export function blockedStep(rotation: Rotation, ring: KeyRing, limits: RotationLimits): PlannedStep | undefined {
  const due = rotationDue(rotation, ring)
  if (ring.length < limits.maxWebKeys || due === undefined || standbyOf(ring, rotation.policy) !== undefined) {
    return undefined
  }
  const makesRoom = ({ at, step }: PlannedStep) => step.kind === 'delete' && at < due
  if (plannedSteps(rotation, ring, limits).some(makesRoom)) return undefined
  return creation(rotation, ring, { due, times: timesOf(rotation.policy, limits) })
}

/** Undefined if there is nothing to do until something changes. */
export function nextStep(rotation: Rotation, ring: KeyRing, limits: RotationLimits): PlannedStep | undefined {
  return plannedSteps(rotation, ring, limits)[0]
}

/**
 * The initial key that signs next: the oldest one of the kind that the policy wants, of those that can be opened if there are any.
 * Undefined if there is none of that kind.
 */
export function standbyOf(
  ring: KeyRing,
  { config }: RotationPolicy,
  { undecryptable }: Decryptability = {},
): InitialWebKey | undefined {
  const candidates = ring
    .filter((key) => key.state === 'initial')
    .filter(({ algorithm, publicJwk }) => isSameConfig(configOf(algorithm, publicJwk), config))
  return candidates.find(({ keyId }) => undecryptable?.has(keyId) !== true) ?? candidates[0]
}

/** When a rotation is due: undefined if none ever is. */
export function rotationDue(rotation: Rotation, ring: KeyRing): Date | undefined {
  const { policy, requestedAt } = rotation
  const active = activeKey(ring)
  if (active === undefined) return policy.enabled || requestedAt !== null ? new Date(0) : undefined
  const inTurn = policy.enabled ? after(active.activatedAt, policy.rotationIntervalSeconds) : undefined
  if (requestedAt === null || !isRequested(rotation, ring)) return inTurn
  return inTurn === undefined ? requestedAt : earliest(inTurn, requestedAt)
}

/**
 * Whether a requested rotation is still to come. In the millisecond of an activation the request counts as the later of the two:
 * one rotation too many does no harm, a lost request could.
 */
export function isRequested({ requestedAt }: Rotation, ring: KeyRing): boolean {
  const active = activeKey(ring)
  return requestedAt !== null && (active === undefined || requestedAt >= active.activatedAt)
}

function nextSigner(
  rotation: Rotation,
  ring: KeyRing,
  {
    times,
    maxWebKeys,
    ...decryptability
  }: Decryptability & { readonly times: RotationTimes; readonly maxWebKeys: number },
): PlannedStep | undefined {
  const due = rotationDue(rotation, ring)
  if (due === undefined) return undefined
  const { policy } = rotation
  const standby = standbyOf(ring, policy, decryptability)
  if (standby !== undefined) {
    const known = publishedFor(standby, times.known)
    // Its publication follows within seconds, and changes the ring.
    if (known === undefined) return undefined
    return { at: latest(due, known), step: { kind: 'activate', keyId: standby.keyId } }
  }
  // There is no room until a key goes, and that changes the ring. See `blockedStep`.
  if (ring.length >= maxWebKeys) return undefined
  return creation(rotation, ring, { due, times })
}

function creation(
  { policy }: Rotation,
  ring: KeyRing,
  { due, times }: { readonly due: Date; readonly times: RotationTimes },
): PlannedStep {
  const inTime = after(due, -times.ahead)
  const early = policy.keepStandby ? after(lastChange(ring), quietSeconds(times)) : inTime
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
