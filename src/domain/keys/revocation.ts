/**
 * Revocation: a key is not trusted any more from now on, and another one takes over if it was the one that signs.
 */
import { after } from '../time.ts'
import { configOf, isSameConfig, type WebKeyConfig } from './key-algorithm.ts'
import {
  activeKey,
  type Decryptability,
  findKey,
  type KeyRing,
  type KeyRingChange,
  type KeyRingStep,
  type SealedKeyPair,
} from './key-ring.ts'
import { unknownToVerifiers } from './publication.ts'
import { type ActiveWebKey, activate, createWebKey, type InitialWebKey, type RevokedWebKey, revoke } from './web-key.ts'

export interface Revocation {
  readonly key: RevokedWebKey
  /** The key that signs now. */
  readonly active: ActiveWebKey | undefined
  /** When the last copy of the key set that a verifier may still use has expired. */
  readonly trustedUntil: Date
}

export interface RevocationOptions extends Decryptability {
  readonly now: Date
  /** How long clients may reuse the key set, in seconds. */
  readonly jwksMaxAgeSeconds: number
  /** A new key pair. It is not used if there is an initial key that can take over. */
  readonly replacement: SealedKeyPair | undefined
  /** The kind of key that the rotation policy wants. Without it, all kinds are alike. */
  readonly config?: WebKeyConfig
}

/**
 * Stops trusting a key at once, in any state. If it was active, another key takes over in the same change: the first of
 *
 * 1. an initial key of the policy's kind that every verifier knows, because it has been published for the cache time,
 * 2. an initial key of another kind that every verifier knows: tokens that verify come before the kind that is wanted,
 * 3. an initial key of the policy's kind, and 4. of another, that some verifiers know,
 * 5. the replacement, which none of them knows yet.
 *
 * Among equals it is the oldest, which most verifiers know. An undecryptable key is skipped.
 *
 * @returns Undefined if a replacement is needed and none was given.
 * @throws {DomainError} `web_key_not_found`.
 */
export function planRevocation(
  ring: KeyRing,
  keyId: string,
  options: RevocationOptions,
): KeyRingChange<Revocation> | undefined {
  const { now, replacement } = options
  const key = findKey(ring, keyId)
  const revoked = revoke(key, now)
  const steps: KeyRingStep[] = [{ kind: 'revoke', key: revoked }]
  let active = activeKey(ring)
  if (key.state === 'active') {
    let successor = successorIn(ring, options)
    if (successor === undefined) {
      if (replacement === undefined) return undefined
      successor = createWebKey(replacement, now)
      steps.push({ kind: 'add', key: successor, sealedPrivateKey: replacement.sealedPrivateKey })
    }
    active = activate(successor, now)
    steps.push({ kind: 'transition', key: active })
  }
  return { steps, result: { key: revoked, active, trustedUntil: trustedUntil(revoked, options) } }
}

/** The result of an earlier revocation, as of now. */
export function revocationOf(
  key: RevokedWebKey,
  { ring, jwksMaxAgeSeconds }: { readonly ring: KeyRing; readonly jwksMaxAgeSeconds: number },
): Revocation {
  return { key, active: activeKey(ring), trustedUntil: trustedUntil(key, { jwksMaxAgeSeconds }) }
}

function trustedUntil({ revokedAt }: RevokedWebKey, rules: Pick<RevocationOptions, 'jwksMaxAgeSeconds'>): Date {
  return after(revokedAt, rules.jwksMaxAgeSeconds)
}

function successorIn(
  ring: KeyRing,
  { now, jwksMaxAgeSeconds, config, undecryptable }: RevocationOptions,
): InitialWebKey | undefined {
  const candidates = ring
    .filter((key) => key.state === 'initial')
    .filter(({ keyId }) => undecryptable?.has(keyId) !== true)
  const isKnown = (key: InitialWebKey) => unknownToVerifiers(key, { now, jwksMaxAgeSeconds }) === undefined
  const isWanted = ({ algorithm, publicJwk }: InitialWebKey) =>
    config === undefined || isSameConfig(configOf(algorithm, publicJwk), config)
  return (
    candidates.find((key) => isKnown(key) && isWanted(key)) ??
    candidates.find(isKnown) ??
    candidates.find(isWanted) ??
    candidates[0]
  )
}
