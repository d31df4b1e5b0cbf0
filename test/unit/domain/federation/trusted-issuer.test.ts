import { describe, expect, it } from '@jest/globals'
import {
  addIssuer,
  mayVouchFor,
  type TrustedIssuer,
  trustDomainOf,
} from '../../../../src/domain/federation/trusted-issuer.ts'
import { ASSERTION_ALGORITHMS } from '../../../../src/domain/keys/assertion-algorithm.ts'

const NOW = new Date(0)
const WHEN = { date: NOW, own: 'https://id.example' }
const GIVEN = { kind: 'given', keys: [] } as const
const facts = (issuer: string) => ({ issuerId: issuer, issuer, keys: GIVEN, algorithms: [], maxLifetimeSeconds: 0 })

describe('trusting an issuer', () => {
  it('takes every algorithm and an hour unless others are named', () => {
    const [issuer] = addIssuer([], facts('a'), WHEN)
    expect(issuer).toMatchObject({ algorithms: ASSERTION_ALGORITHMS, maxLifetimeSeconds: 3600, createdAt: NOW })
  })

  it.each(['http://issuer.example', 'spiffe://issuer.example'])('discovers no keys of %s', (issuer) => {
    const source = { kind: 'discovery', url: null, caCertificates: null, maxStalenessSeconds: 60 } as const
    expect(() => addIssuer([], { ...facts(issuer), keys: { kind: 'fetched', source } }, WHEN)).toThrow(
      expect.objectContaining({ code: 'trusted_issuer_invalid' }),
    )
  })

  it('works for 50 issuers, each of them once', () => {
    let issuers: readonly TrustedIssuer[] = []
    for (let count = 0; count < 50; count += 1) issuers = addIssuer(issuers, facts(`issuer-${count}`), WHEN)
    expect(() => addIssuer(issuers, facts('issuer-7'), WHEN)).toThrow(
      expect.objectContaining({ code: 'trusted_issuer_taken' }),
    )
    expect(() => addIssuer(issuers, facts('one more'), WHEN)).toThrow(
      expect.objectContaining({ code: 'trusted_issuer_limit_reached' }),
    )
  })
})

describe('the trust domain of a SPIFFE ID [SPIFFE-ID §2]', () => {
  it.each([
    ['spiffe://shop.example/checkout', 'spiffe://shop.example'],
    ['spiffe://shop.example/ns/shop/sa/checkout', 'spiffe://shop.example'],
    ['spiffe://shop.example', undefined],
    ['spiffe://shop.example/', undefined],
    ['spiffe://shop.example//checkout', undefined],
    ['spiffe://Shop.example/checkout', undefined],
    ['spiffe://shop.example/ns/../admin', undefined],
    ['spiffe://shop.example/.', undefined],
    ['spiffe://shop.example:1/checkout', undefined],
    ['spiffe://a@shop.example/checkout', undefined],
    ['https://shop.example/checkout', undefined],
    ['spiffe://shop.example/check out', undefined],
    ['spiffe://shop.example/checkout\n', undefined],
  ])('of %j is %j', (id, domain) => {
    expect(trustDomainOf(id)).toBe(domain)
  })

  it('is all that its issuer may vouch for, and another issuer may vouch for any subject', () => {
    const of = (issuer: string) => mayVouchFor({ issuer }, 'spiffe://shop.example/checkout')
    expect([of('spiffe://shop.example'), of('spiffe://other.example'), of('https://spire.example')]).toEqual([
      true,
      false,
      true,
    ])
  })
})
