/**
 * The public key set: the keys of all states, public members only (Spec §4.2).
 */
import type { PublicJwk } from '../../domain/keys/key-algorithm.ts'
import type { KeyRing } from '../../domain/keys/key-ring.ts'
import type { WebKey } from '../../domain/keys/web-key.ts'

/** A JWK Set (RFC 7517 §5). */
export interface KeySet {
  readonly keys: readonly (PublicJwk & { readonly use: 'sig'; readonly kid: string; readonly alg: string })[]
}

/** The key set of a ring, the active key first. */
export function keySetOf(ring: KeyRing): KeySet {
  return {
    keys: inKeySetOrder(ring).map(({ publicJwk, keyId, algorithm }) => ({
      ...publicJwk,
      use: 'sig',
      kid: keyId,
      alg: algorithm,
    })),
  }
}

/**
 * The keys in the order of the key set: the active one first, because some verifiers look at no other. The others follow by
 * creation date, newest first, because the newest is the next to sign.
 */
export function inKeySetOrder(ring: KeyRing): readonly WebKey[] {
  const isActive = ({ state }: WebKey) => state === 'active'
  return [...ring.filter(isActive), ...ring.filter((key) => !isActive(key)).reverse()]
}
