import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const ADDRESSES = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']
const JWKS = '/.well-known/openid-configuration/jwks'
const BASE_URL = 'https://identity.example:8443'

let instance: OAuthInstance

beforeAll(async () => {
  instance = await startOAuthInstance({
    KEYTURN_BASE_URL: BASE_URL,
    KEYTURN_JWKS_MAX_AGE: '60',
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
})
