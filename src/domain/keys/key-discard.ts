/**
 * The deletion of a web key for clients that may delete initial keys, and repeat a deletion. The deletion of the specification, which
 * takes inactive keys only, is in `key-ring.ts`.
 */
import { type KeyRing, type KeyRingChange, planDeletion } from './key-ring.ts'

/**
 * Removes a key that is not active. An initial key has signed nothing, so verifiers lose nothing.
 *
 * @returns The result is the time of the removal, or undefined if there is no such key: it may have been removed before.
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
