import { describe, expect, it } from '@jest/globals'
import type { KeyRing } from '../../../../src/domain/keys/key-ring.ts'
import { activate, createWebKey } from '../../../../src/domain/keys/web-key.ts'
import { inKeySetOrder } from '../../../../src/oauth/documents/jwks.ts'

const seconds = (count: number): Date => new Date(Date.UTC(2030, 0, 1) + count * 1000)

const keyNamed = (keyId: string, createdAt: Date) =>
  createWebKey({ keyId, algorithm: 'EdDSA', publicJwk: { kty: 'OKP', crv: 'Ed25519', x: keyId } }, createdAt)

const others: KeyRing = [1, 2, 3].map((second) => keyNamed(`created at ${second}`, seconds(second)))
const active = activate(keyNamed('active', seconds(0)), seconds(1))

describe('the order of the key set', () => {
  it('is the active key, then the others by creation date, newest first', () => {
    for (const position of [0, 1, 3]) {
      expect(inKeySetOrder(others.toSpliced(position, 0, active)).map(({ keyId }) => keyId)).toEqual([
        'active',
        'created at 3',
        'created at 2',
        'created at 1',
      ])
    }
  })

  it('is newest first if no key is active', () => {
    expect(inKeySetOrder(others)).toEqual(others.toReversed())
    expect(inKeySetOrder([])).toEqual([])
  })
})
