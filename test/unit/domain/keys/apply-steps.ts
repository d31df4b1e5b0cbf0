/**
 * Applies the steps of a change, and refuses what a database with its constraints would refuse.
 */
import { applySteps as apply, type KeyRing, type KeyRingStep } from '../../../../src/domain/keys/key-ring.ts'

/** The ring after the steps. @throws {Error} at the first step that a store could not make. */
export function applySteps(before: KeyRing, steps: readonly KeyRingStep[]): KeyRing {
  let after = before
  for (const step of steps) {
    const keyId = 'key' in step ? step.key.keyId : step.keyId
    const known = after.find((key) => key.keyId === keyId)
    if ((known !== undefined) === (step.kind === 'add')) throw new Error(`cannot ${step.kind} ${keyId}`)
    if (step.kind === 'destroy' && known?.state !== 'inactive') {
      throw new Error('only inactive keys lose their private key')
    }
    after = apply(after, [step])
    if (after.filter(({ state }) => state === 'active').length > 1) throw new Error('two active web keys')
  }
  return after
}
