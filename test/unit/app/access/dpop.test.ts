import { beforeAll, describe, expect, it } from '@jest/globals'
import { dpopFor, newProofKey, type ProofKey, type ProofOptions, proofOf } from '../../../support/dpop.ts'
import { TEST_INTEGRITY } from '../../../support/integrity.ts'

const BASE_URL = 'https://id.example.com'
const NOW = new Date('2026-11-02T12:00:30Z')
const SECONDS = NOW.getTime() / 1000

const { dpopNonces: nonces } = TEST_INTEGRITY
const minutesAgo = (count: number) => nonces.current(new Date(NOW.getTime() - count * 60_000))
const dpop = dpopFor(BASE_URL, () => NOW)

let key: ProofKey
beforeAll(async () => {
  key = await newProofKey()
})

async function verify(options: Partial<ProofOptions>) {
  const url = `${BASE_URL}/path`
  const proof = await proofOf(key, { url, ...options, claims: { iat: SECONDS, ...options.claims } })
  return await dpop.verify({ proof, method: 'POST', path: '/path' })
}

describe('a DPoP proof', () => {
  it.each([-60, 0, 60])(
    'without a nonce may have an iat that is %d s from now [RFC 9449 §4.3 check 11]',
    async (seconds) => {
      expect(await verify({ claims: { iat: SECONDS + seconds } })).toMatchObject({
        keyThumbprint: key.jkt,
        nextNonce: nonces.current(NOW),
      })
    },
  )

  it.each([-61, 61])('without a nonce needs one if its iat is %d s from now', async (seconds) => {
    await expect(verify({ claims: { iat: SECONDS + seconds } })).rejects.toMatchObject({
      code: 'dpop_nonce_required',
      metadata: { dpop_nonce: nonces.current(NOW) },
    })
  })

  it('with a nonce may have any iat, and gets the current nonce if that is another [RFC 9449 §8.2]', async () => {
    const claims = { iat: 0 }
    expect(await verify({ nonce: minutesAgo(0), claims })).toMatchObject({ nextNonce: null })
    expect(await verify({ nonce: minutesAgo(4), claims })).toMatchObject({ nextNonce: nonces.current(NOW) })
    await expect(verify({ nonce: minutesAgo(5), claims })).rejects.toMatchObject({ code: 'dpop_nonce_required' })
  })

  it('is remembered for as long as it is accepted: until the nonce that it may have has ended [RFC 9449 §11.1]', async () => {
    const ends: Date[] = []
    const remembering = dpopFor(BASE_URL, () => NOW, {
      useAssertionOnce: async (_id, expiresAt) => ends.push(expiresAt) > 0,
    })
    await remembering.useOnce(await verify({}))
    const [end] = ends
    expect(nonces.isValid(nonces.current(NOW), new Date(end!.getTime()))).toBe(false)
    expect(end!.getTime() - NOW.getTime()).toBeGreaterThanOrEqual(120_000)
  })
})
