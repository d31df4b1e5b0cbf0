/**
 * The life of one signing key and its legal transitions (Spec §3).
 *
 * Rules about several keys at once, such as "at most one is active", are in `key-ring.ts`.
 */
import type { KeyAlgorithm, PublicJwk } from './key-algorithm.ts'

interface WebKeyFacts {
  /** RFC 7638 SHA-256 thumbprint of the public key; also the `kid` of its tokens. */
  readonly keyId: string
  readonly algorithm: KeyAlgorithm
  readonly publicJwk: PublicJwk
  readonly createdAt: Date
}

/** Published, or about to be, and not signing yet. */
export interface InitialWebKey extends WebKeyFacts {
  readonly state: 'initial'
  /**
   * Since when verifiers can fetch it, at the latest. Null: its creation may not have been visible to any replica yet.
   *
   * Never the creation date: that is taken before the commit, which can hang for minutes.
   */
  readonly publishedAt: Date | null
}

/** Signs all new tokens. */
export interface ActiveWebKey extends WebKeyFacts {
  readonly state: 'active'
  readonly activatedAt: Date
}

/** Published for the verification of what it has signed. */
export interface InactiveWebKey extends WebKeyFacts {
  readonly state: 'inactive'
  readonly activatedAt: Date
  readonly deactivatedAt: Date
  /** Whether its private key is still there. Without it, the key can never sign again. */
  readonly hasPrivateKey: boolean
}

/**
 * Not trusted any more. A record without a private key: it is neither published nor part of the key ring, so nothing
 * that works on the ring can trust it by mistake.
 */
export interface RevokedWebKey extends WebKeyFacts {
  readonly state: 'revoked'
  /** Null if it never signed. */
  readonly activatedAt: Date | null
  /** Null unless it was inactive when it was revoked. */
  readonly deactivatedAt: Date | null
  readonly revokedAt: Date
}

/** A key pair that signs tokens, without its private half (Spec §2.2). */
export type WebKey = InitialWebKey | ActiveWebKey | InactiveWebKey

export type WebKeyState = WebKey['state']

export type KeyPairFacts = Omit<WebKeyFacts, 'createdAt'>

/** A new key (Spec §3, transition from "none"). */
export function createWebKey(facts: KeyPairFacts, at: Date): InitialWebKey {
  const { keyId, algorithm, publicJwk } = facts
  return { keyId, algorithm, publicJwk, createdAt: at, publishedAt: null, state: 'initial' }
}

/** @param at A time at which a replica has read the key from the database. */
export function publish(key: InitialWebKey, at: Date): InitialWebKey {
  return { ...key, publishedAt: at }
}

/** An inactive key may become active again, to roll back a rotation: it is still published, so verifiers know it. */
export function activate(key: InitialWebKey | InactiveWebKey, at: Date): ActiveWebKey {
  const { keyId, algorithm, publicJwk, createdAt } = key
  return { keyId, algorithm, publicJwk, createdAt, state: 'active', activatedAt: at }
}

/** Retires the key that has been signing. It stays published, so what it signed keeps verifying. */
export function deactivate(key: ActiveWebKey, at: Date): InactiveWebKey {
  return { ...key, state: 'inactive', deactivatedAt: at, hasPrivateKey: true }
}

/** Stops trusting a key, in any state. */
export function revoke(key: WebKey, at: Date): RevokedWebKey {
  const { keyId, algorithm, publicJwk, createdAt } = key
  return {
    keyId,
    algorithm,
    publicJwk,
    createdAt,
    state: 'revoked',
    activatedAt: key.state === 'initial' ? null : key.activatedAt,
    deactivatedAt: key.state === 'inactive' ? key.deactivatedAt : null,
    revokedAt: at,
  }
}

/** When the key changed. */
export function datesOf(key: WebKey): readonly Date[] {
  switch (key.state) {
    case 'initial':
      return key.publishedAt === null ? [key.createdAt] : [key.createdAt, key.publishedAt]
    case 'active':
      return [key.createdAt, key.activatedAt]
    case 'inactive':
      return [key.createdAt, key.activatedAt, key.deactivatedAt]
  }
}
