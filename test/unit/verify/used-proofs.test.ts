import { expect, it } from '@jest/globals'
import { ProofProblem, usedInMemory } from '../../../packages/verify/src/dpop-proof.ts'
import { ManualRuntime } from '../../support/manual-runtime.ts'

it('remembers 100,000 used proofs until they expire, and refuses others meanwhile', () => {
  const runtime = new ManualRuntime()
  const use = usedInMemory(runtime)
  const expiresAt = new Date(runtime.now() + 120_000)
  const proofs = Array.from({ length: 100_000 }, (_, i) => `proof-${i}`)
  expect(proofs.filter((proof) => !use(proof, expiresAt))).toEqual([])
  expect(use('proof-0', expiresAt)).toBe(false)
  expect(() => use('another', expiresAt)).toThrow(ProofProblem)
  runtime.advance(120_000)
  expect(use('another', new Date(runtime.now() + 120_000))).toBe(true)
})
