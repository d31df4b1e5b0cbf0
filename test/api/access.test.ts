import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { type Keyturn, requestToken } from '../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

let instance: OAuthInstance
let server: Keyturn
let token: string

beforeAll(async () => {
  instance = await startOAuthInstance()
  server = instance.keyturn
  token = await requestToken(await server.admin())
})

afterAll(() => instance?.stop())

async function call(method: string, authorization: string | null, body = '{}') {
  const response = await fetch(`${server.baseUrl}/iam.webkey.v2beta.WebKeyService/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization === null ? {} : { authorization }) },
    body,
  })
  const answer = (await response.json()) as { code?: string; details?: { type: string; debug?: { reason?: string } }[] }
  const reason = answer.details?.find(({ type }) => type === 'google.rpc.ErrorInfo')?.debug?.reason
  return { status: response.status, code: answer.code, reason, challenge: response.headers.get('www-authenticate') }
}

describe('a call to the API', () => {
  it('succeeds with a token of the administrator', async () => {
    expect(await call('ListWebKeys', `Bearer ${token}`)).toMatchObject({ status: 200 })
    expect(await call('ListWebKeys', `bearer ${token}`)).toMatchObject({ status: 200 })
  })

  it('without a token is unauthenticated', async () => {
    expect(await call('ListWebKeys', null)).toEqual({
      status: 401,
      code: 'unauthenticated',
      reason: 'TOKEN_MISSING',
      challenge: `Bearer resource_metadata="${server.baseUrl}/.well-known/oauth-protected-resource"`,
    })
  })

  it.each<[string, () => string | Promise<string>]>([
    ['another scheme', () => `Basic ${token}`],
    ['a token for another audience', async () => `Bearer ${await requestToken(await server.admin(), 'openid')}`],
    [
      'a token signed by a key of somebody else',
      async () => {
        const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
        const header = { ...decodeProtectedHeader(token), alg: 'RS256' }
        return `Bearer ${await new SignJWT(decodeJwt(token)).setProtectedHeader(header).sign(privateKey)}`
      },
    ],
  ])('with %s is unauthenticated', async (_, authorization) => {
    expect(await call('ListWebKeys', await authorization())).toEqual({
      status: 401,
      code: 'unauthenticated',
      reason: 'TOKEN_INVALID',
      challenge: `Bearer error="invalid_token", resource_metadata="${server.baseUrl}/.well-known/oauth-protected-resource"`,
    })
  })
})
