/**
 * Nonces for DPoP proofs (RFC 9449 §8), the same on all replicas and stored nowhere: a MAC of the current minute.
 *
 * A nonce is not a secret and not random, and need not be: it shows that the proof was made after the nonce was handed out.
 */
import { createHmac, createSecretKey } from 'node:crypto'
import { NONCE_SECONDS } from '../domain/identities/token-binding.ts'
import type { DpopNonces } from '../domain/integrity.ts'
import { isSame } from './secrets.ts'

/** 128 bits. */
const NONCE_BYTES = 16

export function createDpopNonces(key: Uint8Array): DpopNonces {
  const secret = createSecretKey(key)
  const nonceOf = (step: number) =>
    createHmac('sha256', secret).update(String(step)).digest().subarray(0, NONCE_BYTES).toString('base64url')
  return {
    current: (now) => nonceOf(stepAt(now)),
    isValid: (nonce, now) => {
      const last = stepAt(now)
      // One more, because another replica may be ahead by milliseconds.
      const steps = Array.from({ length: NONCE_SECONDS.steps + 1 }, (_, i) => last + 1 - i)
      return steps.some((step) => isSame(Buffer.from(nonceOf(step)), Buffer.from(nonce)))
    },
  }
}

function stepAt(now: Date): number {
  return Math.floor(now.getTime() / 1000 / NONCE_SECONDS.step)
}
