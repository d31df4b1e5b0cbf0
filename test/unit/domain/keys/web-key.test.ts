import { describe, expect, it } from '@jest/globals'
import { activate, createWebKey, datesOf, deactivate, publish } from '../../../../src/domain/keys/web-key.ts'

const facts = {
  keyId: 'key-1',
  algorithm: 'EdDSA',
  publicJwk: { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' },
} as const

const [first, second, third, fourth] = [1, 2, 3, 4].map((day) => new Date(Date.UTC(2030, 0, day))) as [
  Date,
  Date,
  Date,
  Date,
]

describe('a web key', () => {
  it('is initial when it has been created, and has no other date [Spec §3]', () => {
    expect(createWebKey(facts, first)).toEqual({ ...facts, state: 'initial', createdAt: first, publishedAt: null })
  })

  it('has a date of publication once that is known, and only while it is initial', () => {
    const published = publish(createWebKey(facts, first), second)
    expect(published).toEqual({ ...facts, state: 'initial', createdAt: first, publishedAt: second })
    expect(datesOf(published)).toEqual([first, second])
    expect(activate(published, third)).not.toHaveProperty('publishedAt')
  })

  it('is active from its activation on [Spec §3]', () => {
    expect(activate(createWebKey(facts, first), second)).toEqual({
      ...facts,
      state: 'active',
      createdAt: first,
      activatedAt: second,
    })
  })

  it('keeps its earlier dates when it becomes inactive [Spec §2.2]', () => {
    expect(deactivate(activate(createWebKey(facts, first), second), third)).toEqual({
      ...facts,
      state: 'inactive',
      createdAt: first,
      activatedAt: second,
      deactivatedAt: third,
      hasPrivateKey: true,
    })
  })

  it('may come back, and then has no deactivation date any more', () => {
    const inactive = deactivate(activate(createWebKey(facts, first), second), third)
    expect(activate(inactive, fourth)).toEqual({ ...facts, state: 'active', createdAt: first, activatedAt: fourth })
  })
})
