/**
 * All web keys of an instance and the rules over the set: at most one is active, only inactive ones can be deleted (Spec §3).
 *
 * Plans are pure. They say what has to change; a `KeyStore` stores it.
 */
import { DomainError } from '../errors.ts'
import { tooYoung, unknownToVerifiers } from './publication.ts'
import {
  type ActiveWebKey,
  activate,
  createWebKey,
  deactivate,
  type InitialWebKey,
  type KeyPairFacts,
  publish,
  type RevokedWebKey,
  type WebKey,
} from './web-key.ts'

/** All web keys that are published, ordered by creation date, oldest first. Revoked ones are no part of it. */
export type KeyRing = readonly WebKey[]

/** A new key pair, its private half already sealed. */
export interface SealedKeyPair extends KeyPairFacts {
  /** The private key as a compact JWE. Only a `KeySealer` can open it. */
  readonly sealedPrivateKey: string
}

export type KeyRingStep =
  | { readonly kind: 'add'; readonly key: InitialWebKey; readonly sealedPrivateKey: string }
  | { readonly kind: 'transition'; readonly key: WebKey }
  | { readonly kind: 'remove'; readonly keyId: string }
  /** The private key of an inactive key goes for good; the key stays published. */
  | { readonly kind: 'destroy'; readonly keyId: string }
  /** The key leaves the ring; a record of it stays. */
  | { readonly kind: 'revoke'; readonly key: RevokedWebKey }

/** The steps to store, in this order, and the result for the caller. */
export interface KeyRingChange<T> {
  readonly steps: readonly KeyRingStep[]
  readonly result: T
}

/** What to do about a key that verifiers may not know yet (Spec §8). */
export type ActivationGuard = 'warn' | 'enforce' | 'off'

export interface ActivationRules {
  readonly guard: ActivationGuard
  /** How long clients may reuse the key set, in seconds. */
  readonly jwksMaxAgeSeconds: number
}

export interface Activation {
  readonly key: ActiveWebKey
  /** Set if the key was published for less than the key set's cache time: from when on all verifiers know it, at the earliest. */
  readonly knownFrom?: Date
}

/** The outcome of a decryptability check, before a key is made to sign. */
export interface Decryptability {
  /** The keys whose private key cannot be opened with the configured master keys. Default none. */
  readonly undecryptable?: ReadonlySet<string>
}

export function activeKey(ring: KeyRing): ActiveWebKey | undefined {
  return ring.find((key) => key.state === 'active')
}

/** @throws {DomainError} `web_key_limit_reached`. */
export function assertRoom(ring: KeyRing, maxWebKeys: number): void {
  if (ring.length < maxWebKeys) return
  const help = ring.some(({ state }) => state === 'inactive')
    ? 'delete inactive ones first'
    : 'none is inactive and could be deleted, so revoke initial ones that are not needed'
  throw new DomainError(
    'web_key_limit_reached',
    `there are ${ring.length} web keys and at most ${maxWebKeys} are allowed (KEYTURN_MAX_WEB_KEYS): ${help}`,
  )
}

/** Adds an initial key (Spec §4.3 rule 1). @throws {DomainError} `web_key_limit_reached`. */
export function planCreation(
  ring: KeyRing,
  pair: SealedKeyPair,
  options: { readonly now: Date; readonly maxWebKeys: number },
): KeyRingChange<InitialWebKey> {
  assertRoom(ring, options.maxWebKeys)
  const key = createWebKey(pair, options.now)
  return { steps: [{ kind: 'add', key, sealedPrivateKey: pair.sealedPrivateKey }], result: key }
}

export function unpublishedKeys(ring: KeyRing): readonly InitialWebKey[] {
  return ring.filter((key) => key.state === 'initial').filter(({ publishedAt }) => publishedAt === null)
}

/**
 * Dates the publication of every initial key that has no date yet. The ring must have been read in a transaction of its own,
 * after the one that created them: what it has is committed, so every replica can read it from `now` on.
 *
 * @returns The result is the keys with their dates.
 */
export function planPublication(ring: KeyRing, { now }: { readonly now: Date }): KeyRingChange<undefined> {
  const steps = unpublishedKeys(ring).map((key) => ({ kind: 'transition', key: publish(key, now) }) as const)
  return { steps, result: undefined }
}

/**
 * Makes a key the one that signs; the one that signed becomes inactive in the same change (Spec §3).
 *
 * Activating the active key changes nothing. The demotion comes first: the database checks after each step that at most one is active.
 *
 * @throws {DomainError} `web_key_not_found`; `web_key_too_young` if the guard is `enforce` (Spec §8);
 * `web_key_private_key_destroyed` if an inactive key has none any more; `web_key_cannot_be_opened`.
 */
export function planActivation(
  ring: KeyRing,
  keyId: string,
  options: ActivationRules & Decryptability & { readonly now: Date },
): KeyRingChange<Activation> {
  const key = findKey(ring, keyId)
  if (key.state === 'active') return { steps: [], result: { key } }
  if (key.state === 'inactive' && !key.hasPrivateKey) {
    throw new DomainError(
      'web_key_private_key_destroyed',
      `the private key of web key ${keyId} has been destroyed, so it cannot sign again: create a new key`,
      { metadata: { key_id: keyId } },
    )
  }

  const isGuarded = key.state === 'initial' && options.guard !== 'off'
  const unknown = isGuarded ? unknownToVerifiers(key, options) : undefined
  if (isGuarded && unknown !== undefined && options.guard === 'enforce') throw tooYoung(key, unknown)

  assertDecryptable(key, options)
  const promoted = activate(key, options.now)
  return {
    steps: takeOver(ring, promoted),
    result: { key: promoted, ...(unknown === undefined ? {} : { knownFrom: unknown.until }) },
  }
}

/** @throws {DomainError} `web_key_cannot_be_opened`. */
export function assertDecryptable({ keyId }: Pick<WebKey, 'keyId'>, { undecryptable }: Decryptability): void {
  if (undecryptable?.has(keyId) !== true) return
  throw new DomainError(
    'web_key_cannot_be_opened',
    `the private key of web key ${keyId} cannot be opened with the configured master keys, so it cannot sign: add the ` +
      'one that sealed it to KEYTURN_MASTER_KEYS, or revoke the web key',
    { metadata: { key_id: keyId } },
  )
}

/** The steps by which a key that has been activated takes the place of the active one, if there is one. */
export function takeOver(ring: KeyRing, promoted: ActiveWebKey): KeyRingStep[] {
  const previous = activeKey(ring)
  return [
    ...(previous === undefined
      ? []
      : [{ kind: 'transition' as const, key: deactivate(previous, promoted.activatedAt) }]),
    { kind: 'transition', key: promoted },
  ]
}

/**
 * Removes an inactive key (Spec §3 rule 1, §4.3 rule 4). The result is the time of the removal.
 *
 * @throws {DomainError} `web_key_not_found`; `web_key_active`; `web_key_not_inactive`.
 */
export function planDeletion(ring: KeyRing, keyId: string, options: { readonly now: Date }): KeyRingChange<Date> {
  const key = findKey(ring, keyId)
  const metadata = { key_id: keyId }
  if (key.state === 'active') {
    throw new DomainError('web_key_active', `web key ${keyId} is active: activate another key first`, { metadata })
  }
  if (key.state === 'initial') {
    throw new DomainError('web_key_not_inactive', `web key ${keyId} is initial: only inactive keys can be deleted`, {
      metadata,
    })
  }
  return { steps: [{ kind: 'remove', keyId }], result: options.now }
}

/** @throws {DomainError} `web_key_not_found`. */
export function findKey(ring: KeyRing, keyId: string): WebKey {
  const key = ring.find((candidate) => candidate.keyId === keyId)
  if (key === undefined) throw noSuchKey(keyId)
  return key
}

export function noSuchKey(keyId: string): DomainError {
  return new DomainError('web_key_not_found', `there is no web key ${JSON.stringify(keyId)}`, {
    metadata: { key_id: keyId },
  })
}

/**
 * Removes a key that is not active, for clients that may delete initial keys and repeat a deletion.
 *
 * @returns The result is the time of the removal, or undefined if there is no such key.
 * @throws {DomainError} `web_key_active`.
 */
export function planDiscard(
  ring: KeyRing,
  keyId: string,
  options: { readonly now: Date },
): KeyRingChange<Date | undefined> {
  const key = ring.find((candidate) => candidate.keyId === keyId)
  if (key === undefined) return { steps: [], result: undefined }
  if (key.state === 'initial') return { steps: [{ kind: 'remove', keyId }], result: options.now }
  return planDeletion(ring, keyId, options)
}

/** The ring after the steps. A key that is added is younger than all others, so it comes last. */
export function applySteps(ring: KeyRing, steps: readonly KeyRingStep[]): KeyRing {
  return steps.reduce(applyStep, ring)
}

function applyStep(ring: KeyRing, step: KeyRingStep): KeyRing {
  switch (step.kind) {
    case 'add':
      return [...ring, step.key]
    case 'transition':
      return ring.map((key) => (key.keyId === step.key.keyId ? step.key : key))
    case 'destroy':
      return ring.map((key) =>
        key.keyId === step.keyId && key.state === 'inactive' ? { ...key, hasPrivateKey: false } : key,
      )
    case 'remove':
      return ring.filter(({ keyId }) => keyId !== step.keyId)
    case 'revoke':
      return ring.filter(({ keyId }) => keyId !== step.key.keyId)
  }
}
