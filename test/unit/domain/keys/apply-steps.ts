/**
 * What a store does with the steps of a change. Refuses what a database with its constraints would refuse.
 */
import type { KeyRing, KeyRingStep } from '../../../../src/domain/keys/key-ring.ts'

/** The ring after the steps. */
export function applySteps(before: KeyRing, steps: readonly KeyRingStep[]): KeyRing {
  let after = before
  for (const step of steps) {
    const keyId = 'key' in step ? step.key.keyId : step.keyId
    const known = after.some((key) => key.keyId === keyId)
    if (known === (step.kind === 'add')) throw new Error(`cannot ${step.kind} ${keyId}`)

    switch (step.kind) {
      case 'add':
        after = [...after, step.key]
        break
      case 'move':
        after = after.map((key) => (key.keyId === keyId ? step.key : key))
        break
      case 'destroy':
        after = after.map((key) => {
          if (key.keyId !== keyId) return key
          if (key.state !== 'inactive') throw new Error('only inactive keys lose their private key')
          return { ...key, hasPrivateKey: false }
        })
        break
      case 'remove':
      case 'revoke':
        after = after.filter((key) => key.keyId !== keyId)
        break
    }
    if (after.filter(({ state }) => state === 'active').length > 1) throw new Error('two active web keys')
  }
  return after
}
