import { describe, expect, it } from '@jest/globals'
import { endFetch, type FetchedKeys, type IssuerKey } from '../../../../src/domain/federation/issuer-keys.ts'
import {
  addIssuer,
  editIssuer,
  mayVouchFor,
  noteKeyFetch,
  refreshIssuerKeys,
  type TrustedIssuer,
  trustDomainOf,
} from '../../../../src/domain/federation/trusted-issuer.ts'
import { ASSERTION_ALGORITHMS } from '../../../../src/domain/keys/assertion-algorithm.ts'

const NOW = new Date(0)
const WHEN = { moment: { clock: NOW, date: NOW }, own: 'https://id.example' }
const GIVEN = { kind: 'given', keys: [] } as const
const facts = (issuer: string) => ({ issuerId: issuer, issuer, keys: GIVEN, algorithms: [], maxLifetimeSeconds: 0 })

describe('trusting an issuer', () => {
  it('takes every algorithm and an hour unless others are named', () => {
    const [issuer] = addIssuer([], facts('a'), WHEN)
    expect(issuer).toMatchObject({ algorithms: ASSERTION_ALGORITHMS, maxLifetimeSeconds: 3600, createdAt: NOW })
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

const SOURCE = { kind: 'discovery', url: null, caCertificates: null, maxStalenessSeconds: 600 } as const

describe('an issuer whose keys are fetched', () => {
  it('is fetched from at once by the clock, also while changes are dated ahead of it', () => {
    const [clock, date] = [new Date(1000), new Date(80_000_000)]
    const keys = { kind: 'fetched', source: SOURCE } as const
    const issuers = addIssuer([], { ...facts('https://a.example'), keys }, { ...WHEN, moment: { clock, date } })
    expect(issuers[0]).toMatchObject({ createdAt: date, keys: { fetch: { nextFetchAt: clock } } })
    const later = new Date(2000)
    const [refreshed] = refreshIssuerKeys(issuers, 'https://a.example', later)
    expect(refreshed!.keys).toMatchObject({ fetch: { nextFetchAt: later } })
  })
})

describe('a change of how long fetched keys are used', () => {
  const at = (seconds: number) => new Date(seconds * 1000)
  const before = { kind: 'fetched', source: { ...SOURCE, maxStalenessSeconds: 86_400 } } as const
  const [trusted] = addIssuer([], { ...facts('https://a.example'), keys: before }, WHEN)
  const outcome = { kind: 'fetched', keys: [], freshSeconds: 3600 } as const
  const fetched = endFetch(trusted!.keys as FetchedKeys, outcome, { now: at(0), random: 0 }).next
  const changedTo = (maxStalenessSeconds: number) => {
    const keys = { kind: 'fetched', source: { ...SOURCE, maxStalenessSeconds } } as const
    const [issuer] = editIssuer([{ ...trusted!, keys: fetched }], 'https://a.example', {
      edit: { keys },
      clock: at(100),
    })
    return (issuer!.keys as FetchedKeys).fetch.nextFetchAt
  }

  it('has them fetched at once if the time is shorter: the next fetch could come after it', () => {
    expect(changedTo(600)).toEqual(at(100))
  })

  it('leaves the next fetch where it is if the time is longer', () => {
    expect(changedTo(2 * 86_400)).toEqual(at(3600))
  })
})

describe('noting how fetching keys goes', () => {
  const source = SOURCE
  const key = (kid: string): IssuerKey => ({ kty: 'OKP', crv: 'Ed25519', x: 'x', kid })
  const [issuer] = addIssuer([], { ...facts('https://a.example'), keys: { kind: 'fetched', source } }, WHEN)
  const fetched = (seconds: number, ...keys: IssuerKey[]): TrustedIssuer => {
    const now = new Date(seconds * 1000)
    const outcome = { kind: 'fetched', keys, freshSeconds: null } as const
    return { ...issuer!, keys: endFetch(issuer!.keys as FetchedKeys, outcome, { now, random: 0 }).next }
  }

  it('keeps the keys in memory, which have been imported, and takes the dates', () => {
    const known = fetched(1, key('a'), key('b'))
    const [noted] = noteKeyFetch([known], fetched(2, key('b'), key('a')))
    expect((noted!.keys as FetchedKeys).keys).toBe((known.keys as FetchedKeys).keys)
    expect((noted!.keys as FetchedKeys).fetch.fetchedAt).toEqual(new Date(2000))
  })

  it('leaves alone an issuer with other keys, another source, or another id, and one whose keys are given', () => {
    const known = fetched(1, key('a'))
    const keys = fetched(2, key('a')).keys as FetchedKeys
    for (const other of [
      fetched(2, key('b')),
      { ...known, keys: { ...keys, source: { ...source, caCertificates: 'other' } } },
      { ...known, keys, issuerId: 'other' },
      { ...known, keys: GIVEN },
    ])
      expect(noteKeyFetch([known], other)).toEqual([known])
    expect(noteKeyFetch([{ ...known, keys: GIVEN }], { ...known, keys })).toEqual([{ ...known, keys: GIVEN }])
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
