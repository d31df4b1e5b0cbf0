import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { toJoseSignature } from '../../../src/crypto/ecdsa-signature.ts'

const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))

describe('an ECDSA signature', () => {
  it.each([
    ['P-256', 32, 600],
    ['P-384', 48, 60],
    ['P-521', 66, 60],
  ] as const)('of %s has both numbers side by side, also when one of them is short', (namedCurve, size, rounds) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    for (let round = 0; round < rounds; round += 1) {
      const data = createHash('sha256').update(`${round}`).digest()
      const signature = toJoseSignature(sign('sha256', data, privateKey), size)
      expect(signature).toHaveLength(2 * size)
      expect(verify('sha256', data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true)
    }
  })

  it.each([
    ['nothing', ''],
    ['another kind of value', '31 06 02 01 05 02 01 06'],
    ['something else than integers', '30 06 04 01 05 02 01 06'],
    ['an integer without bytes', '30 05 02 00 02 01 06'],
    ['too long an integer', '30 08 02 03 01 02 03 02 01 06'],
    ['two zeros before an integer', '30 09 02 04 00 00 01 02 02 01 06'],
    ['more after the end', '30 06 02 01 05 02 01 06 00'],
    ['a wrong length', '30 07 02 01 05 02 01 06'],
    ['an end in the middle', '30 06 02 01 05 02 02 06'],
  ])('is refused with %s', (_, der) => {
    expect(() => toJoseSignature(hex(der), 2)).toThrow('not an ECDSA signature')
  })
})
