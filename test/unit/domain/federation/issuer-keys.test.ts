import { describe, expect, it } from '@jest/globals'
import {
  beginFetch,
  endFetch,
  type FetchedKeys,
  isFetchDue,
  type KeySource,
  notFetched,
  requestFetch,
} from '../../../../src/domain/federation/issuer-keys.ts'

const SOURCE: KeySource = {
  kind: 'jwks_url',
  url: 'https://keys.example/jwks',
  caCertificates: null,
  maxStalenessSeconds: 86_400,
}

/** A time of day. */
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000)

const fetchedAt = (seconds: number): FetchedKeys =>
  endFetch(
    beginFetch(notFetched(SOURCE, at(0)), 'lease', at(seconds)),
    { kind: 'fetched', keys: [], freshSeconds: null },
    { now: at(seconds), random: 0 },
  ).next

const due = (keys: FetchedKeys, seconds: number, isWanted = false) => isFetchDue(keys, { now: at(seconds), isWanted })

describe('a fetch of the keys of an issuer', () => {
  it('is due when the last one is old enough, and sooner for a key that is not known', () => {
    const keys = fetchedAt(1000)
    expect([due(keys, 1299), due(keys, 1300)]).toEqual([false, true])
    expect([due(keys, 1029, true), due(keys, 1030, true)]).toEqual([false, true])
  })

  it('is due at once when the clock has been set back since the last one', () => {
    const keys = fetchedAt(1000)
    expect([due(keys, 969), due(keys, 970)]).toEqual([true, false])
    expect(due(fetchedAt(969), 969, true)).toBe(false)
  })

  it('is due again a minute after one that never ended, or when the clock has been set back since that began', () => {
    const keys = beginFetch(notFetched(SOURCE, at(0)), 'lost', at(1000))
    expect([due(keys, 1059, true), due(keys, 1060)]).toEqual([false, true])
    expect(due(keys, 100)).toBe(true)
    expect(requestFetch(keys, at(1059))).toBe(keys)
    expect(requestFetch(keys, at(100)).fetch.nextFetchAt).toEqual(at(100))
  })
})
