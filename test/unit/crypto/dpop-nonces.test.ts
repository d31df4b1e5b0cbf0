import { describe, expect, it } from '@jest/globals'
import { createDpopNonces } from '../../../src/crypto/dpop-nonces.ts'

const MINUTE = 60_000
const NOW = new Date('2026-11-02T12:00:30Z')
const after = (millis: number) => new Date(NOW.getTime() + millis)

const nonces = createDpopNonces(Buffer.alloc(32, 'nonces'))

describe('a nonce [RFC 9449 §8]', () => {
  it('is the same on another replica, and another one in the next minute', () => {
    const other = createDpopNonces(Buffer.alloc(32, 'nonces'))
    expect(other.current(NOW)).toBe(nonces.current(NOW))
    expect(nonces.current(after(29_999))).toBe(nonces.current(NOW))
    expect(nonces.current(after(30_000))).not.toBe(nonces.current(NOW))
  })

  it('is valid for four to five minutes, and on a replica whose clock is behind', () => {
    const nonce = nonces.current(NOW)
    const validAt = [-31_000, -30_000, 0, 4 * MINUTE, 4.5 * MINUTE - 1, 4.5 * MINUTE].map((millis) =>
      nonces.isValid(nonce, after(millis)),
    )
    expect(validAt).toEqual([true, true, true, true, true, false])
    expect(nonces.isValid(nonce, after(-1.5 * MINUTE - 1))).toBe(false)
  })

  it('of another instance is not valid', () => {
    const other = createDpopNonces(Buffer.alloc(32, 'other'))
    expect(nonces.isValid(other.current(NOW), NOW)).toBe(false)
  })

  it.each(['', 'x', 'é'.repeat(22), 'A'.repeat(22), 'A'.repeat(10_000)])('is not %p', (text) => {
    expect(nonces.isValid(text, NOW)).toBe(false)
  })
})
