import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const ADDRESSES = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']
const JWKS = '/.well-known/openid-configuration/jwks'
const BASE_URL = 'https://identity.example:8443'

let instance: OAuthInstance

beforeAll(async () => {
  instance = await startOAuthInstance({
    KEYTURN_BASE_URL: BASE_URL,
    KEYTURN_JWKS_MAX_AGE: '60',
    KEYTURN_TOKEN_LIFETIME: '2',
  })
})

afterAll(() => instance?.stop())

describe('a server with settings of its own', () => {
  it.each(ADDRESSES)('says at %s where it is reached, which is not where it listens', async (address) => {
    expect(await (await instance.fetch(address)).json()).toMatchObject({
      issuer: BASE_URL,
      token_endpoint: `${BASE_URL}/oauth/v2/token`,
      jwks_uri: BASE_URL + JWKS,
    })
  })

  it('lets clients cache its key set for KEYTURN_JWKS_MAX_AGE seconds [Spec §8]', async () => {
    for (const address of [JWKS, ...ADDRESSES]) {
      const { headers } = await instance.fetch(address)
      expect(headers.get('cache-control')).toBe('public, max-age=60, must-revalidate')
    }
  })

  it('issues tokens that live for KEYTURN_TOKEN_LIFETIME seconds, and says so in expires_in [Spec §2.1]', async () => {
    const response = await instance.requestToken(await instance.addRobot())
    const { access_token, expires_in } = (await response.json()) as { access_token: string; expires_in: number }
    const { iat, exp } = decodeJwt(access_token)
    expect([expires_in, Number(exp) - Number(iat)]).toEqual([2, 2])

    const keySet = createRemoteJWKSet(new URL(instance.keyturn.listenUrl + JWKS))
    const at = (seconds: number) => ({ currentDate: new Date((Number(iat) + seconds) * 1000) })
    expect((await jwtVerify(access_token, keySet, at(1))).payload.exp).toBe(exp)
    await expect(jwtVerify(access_token, keySet, at(2))).rejects.toMatchObject({ code: 'ERR_JWT_EXPIRED' })
  })
})
