/**
 * The steps that a change of the key ring consists of. Plans make them, a `KeyStore` stores them in their order.
 */
import type { KeyRing } from './key-ring.ts'
import type { InitialWebKey, RevokedWebKey, WebKey } from './web-key.ts'

export type KeyRingStep =
  | { readonly kind: 'add'; readonly key: InitialWebKey; readonly sealedPrivateKey: string }
  | { readonly kind: 'transition'; readonly key: WebKey }
  | { readonly kind: 'remove'; readonly keyId: string }
  /** The private key of an inactive key goes for good; the key stays published. */
  | { readonly kind: 'destroy'; readonly keyId: string }
  /** The key leaves the ring; a record of it stays. */
  | { readonly kind: 'revoke'; readonly key: RevokedWebKey }

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
