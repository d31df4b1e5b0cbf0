/**
 * Turns a step of the rotation into a change of the ring, and lists the steps that will follow.
 */

import { after, latest } from '../time.ts'
import { algorithmOf, configOf, isSameConfig, type PublicJwk, type WebKeyConfig } from './key-algorithm.ts'
import {
  applySteps,
  assertDecryptable,
  assertRoom,
  type Decryptability,
  type KeyRing,
  type KeyRingChange,
  type KeyRingStep,
  type SealedKeyPair,
  takeOver,
} from './key-ring.ts'
import { publishedFor } from './publication.ts'
import {
  isRequested,
  nextStep,
  type PlannedStep,
  plannedSteps,
  type Rotation,
  type RotationStep,
  standbyOf,
} from './rotation.ts'
import { type RotationLimits, timesOf } from './rotation-policy.ts'
import { type ActiveWebKey, activate, createWebKey, type InitialWebKey, publish } from './web-key.ts'

export interface PlanOptions {
  readonly now: Date
  readonly limits: RotationLimits
}

/**
 * Plans a step that was due a moment ago. The result is undefined if it is not due any more: another replica has made it, or the
 * policy has changed.
 *
 * @param pair For a step that creates a key.
 */
export function planStep(
  rotation: Rotation,
  ring: KeyRing,
  {
    wanted,
    now,
    limits,
    pair,
    ...decryptability
  }: PlanOptions & Decryptability & { readonly wanted: RotationStep; readonly pair: SealedKeyPair | undefined },
): KeyRingChange<RotationStep | undefined> {
  const steps = plannedSteps(rotation, ring, { ...limits, ...decryptability })
  const planned = steps.find(({ at, step }) => at <= now && isSame(step, wanted))
  if (planned === undefined) return NOTHING
  const { step } = planned
  if (step.kind !== 'create') {
    const changes = stepsOf(step, ring, now)
    return changes.length === 0 ? NOTHING : { steps: changes, result: step }
  }
  if (pair === undefined || !isSameConfig(configOf(pair.algorithm, pair.publicJwk), step.config)) return NOTHING
  const key = createWebKey(pair, now)
  return { steps: [{ kind: 'add', key, sealedPrivateKey: pair.sealedPrivateKey }], result: step }
}

/** A step of the rotation that creates no key, as steps of the ring. */
function stepsOf(step: Exclude<RotationStep, { kind: 'create' }>, ring: KeyRing, at: Date): readonly KeyRingStep[] {
  switch (step.kind) {
    case 'activate': {
      const key = ring.filter((each) => each.state === 'initial').find(({ keyId }) => keyId === step.keyId)
      return key === undefined ? [] : takeOver(ring, activate(key, at))
    }
    case 'destroy':
      return [{ kind: 'destroy', keyId: step.keyId }]
    case 'delete':
      return [{ kind: 'remove', keyId: step.keyId }]
  }
}

const NOTHING: KeyRingChange<undefined> = { steps: [], result: undefined }

function isSame(a: RotationStep, b: RotationStep): boolean {
  if (a.kind === 'create') return b.kind === 'create' && isSameConfig(a.config, b.config)
  return a.kind === b.kind && a.keyId === b.keyId
}

export interface RequestedRotation {
  /** Whether another key signs already. */
  readonly done: boolean
  readonly doneAt: Date
  /** That key; undefined if it has yet to be made. */
  readonly key: ActiveWebKey | InitialWebKey | undefined
}

/**
 * Rotates out of turn: the standby takes over at once if verifiers know it, otherwise as soon as they do. Asking again
 * before that changes nothing.
 *
 * @returns The change, and the rotation to store. The steps that are still to come follow from it.
 * @throws {DomainError} `web_key_limit_reached` if there is no standby and no room for one; `web_key_cannot_be_opened` if
 * the standby cannot sign, now or later.
 */
export function planRequestedRotation(
  rotation: Rotation,
  ring: KeyRing,
  { now, limits, ...decryptability }: PlanOptions & Decryptability,
): KeyRingChange<RequestedRotation> & { readonly rotation: Rotation } {
  const { known } = timesOf(rotation.policy, limits)
  const standby = standbyOf(ring, rotation.policy, decryptability)
  if (standby !== undefined) assertDecryptable(standby, decryptability)
  const knownAt = standby === undefined ? undefined : publishedFor(standby, known)
  if (standby !== undefined && knownAt !== undefined && knownAt <= now) {
    const key = activate(standby, now)
    return { steps: takeOver(ring, key), rotation, result: { done: true, doneAt: now, key } }
  }
  if (standby === undefined) assertRoom(ring, limits.maxWebKeys)
  return {
    steps: [],
    rotation: isRequested(rotation, ring) ? rotation : { ...rotation, requestedAt: now },
    result: { done: false, doneAt: knownAt ?? after(now, known), key: standby },
  }
}

/**
 * The steps that will follow if no administrator interferes, in order. Steps of keys that do not exist yet have an empty key id.
 *
 * @param count The greatest number of steps.
 */
export function schedule(
  rotation: Rotation,
  ring: KeyRing,
  { now, limits, count }: PlanOptions & { readonly count: number },
): readonly PlannedStep[] {
  const steps: PlannedStep[] = []
  // Keys without a date of publication get one within seconds.
  let imagined: KeyRing = ring.map((key) =>
    key.state === 'initial' && key.publishedAt === null ? publish(key, now) : key,
  )
  let time = now
  while (steps.length < count) {
    const next = nextStep(rotation, imagined, limits)
    if (next === undefined) break
    time = latest(time, next.at)
    const { step } = next
    steps.push({ at: time, step: 'keyId' in step && isImagined(step.keyId) ? { ...step, keyId: '' } : step })
    imagined = imagine(imagined, step, time, steps.length)
  }
  return steps
}

const IMAGINED = 'to be created '

function isImagined(keyId: string): boolean {
  return keyId.startsWith(IMAGINED)
}

function imagine(ring: KeyRing, step: RotationStep, at: Date, number: number): KeyRing {
  return step.kind === 'create'
    ? [...ring, imagineKey(step.config, at, number)]
    : applySteps(ring, stepsOf(step, ring, at))
}

/** A placeholder of the right kind, published at once. Its public key is not valid. */
function imagineKey(config: WebKeyConfig, at: Date, number: number): InitialWebKey {
  const facts = { keyId: `${IMAGINED}${number}`, algorithm: algorithmOf(config), publicJwk: imagineJwk(config) }
  return publish(createWebKey(facts, at), at)
}

function imagineJwk(config: WebKeyConfig): PublicJwk {
  switch (config.kind) {
    case 'rsa':
      return { kty: 'RSA', n: 'A'.repeat(Math.ceil(config.bits / 6)), e: 'AQAB' }
    case 'ecdsa':
      return { kty: 'EC', crv: config.curve, x: '', y: '' }
    case 'ed25519':
      return { kty: 'OKP', crv: 'Ed25519', x: '' }
  }
}
