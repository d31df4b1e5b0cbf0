import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { base64url, decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose'
import { generateMasterKey, parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../src/crypto/sealed-key.ts'
import { type Keyturn, requestToken } from '../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

let instance: OAuthInstance
let server: Keyturn
let token: string
const masterKeys = generateMasterKey()

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_MASTER_KEYS: masterKeys })
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

/** The real private key of the active web key, to forge tokens that are wrong in one thing only. */
async function activePrivateKey() {
  const row = await instance.database.db
    .selectFrom('web_keys')
    .select(['key_id', 'sealed_private_key'])
    .where('state', '=', 'active')
    .executeTakeFirstOrThrow()
  const sealer = createKeySealer(parseMasterKeys(masterKeys))
  return {
    keyId: row.key_id,
    key: await sealer.open(row.sealed_private_key!, { keyId: row.key_id, algorithm: 'RS256' }),
  }
}

async function forge(change: { claims?: JWTPayload; header?: Record<string, unknown> }): Promise<string> {
  const { key } = await activePrivateKey()
  const header = { ...decodeProtectedHeader(token), alg: 'RS256', ...change.header }
  return new SignJWT({ ...decodeJwt(token), ...change.claims }).setProtectedHeader(header).sign(key)
}

async function publicPem(): Promise<string> {
  const response = await fetch(`${server.baseUrl}/.well-known/openid-configuration/jwks`)
  const { keys } = (await response.json()) as { keys: JsonWebKey[] }
  return createPublicKey({ key: keys[0]!, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString()
}

function unsigned(alg: string, sign: (input: string) => string): string {
  const header = { ...decodeProtectedHeader(token), alg }
  const input = `${base64url.encode(JSON.stringify(header))}.${token.split('.')[1]}`
  return `${input}.${sign(input)}`
}

describe('a call to the API', () => {
  it('succeeds with a token of the administrator, forged without any change', async () => {
    expect(await call('ListWebKeys', `Bearer ${token}`)).toMatchObject({ status: 200 })
    expect(await call('ListWebKeys', `bearer ${await forge({})}`)).toMatchObject({ status: 200 })
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
    ['an expired token', async () => `Bearer ${await forge({ claims: { exp: 1 } })}`],
    [
      'a token without expiry',
      async () => `Bearer ${await forge({ claims: { exp: undefined } as unknown as JWTPayload })}`,
    ],
    ['a token for another audience', async () => `Bearer ${await forge({ claims: { aud: 'someone' } })}`],
    ['a token of another issuer', async () => `Bearer ${await forge({ claims: { iss: 'https://evil.example' } })}`],
    ['a token of another type', async () => `Bearer ${await forge({ header: { typ: 'JWT' } })}`],
    ['a token that names no key', async () => `Bearer ${await forge({ header: { kid: undefined } })}`],
    ['a token that names an unknown key', async () => `Bearer ${await forge({ header: { kid: 'x'.repeat(43) } })}`],
    ['a token with alg none', () => `Bearer ${unsigned('none', () => '')}`],
    [
      'a token signed with the public key as an HMAC secret',
      async () => {
        const pem = await publicPem()
        return `Bearer ${unsigned('HS256', (input) => createHmac('sha256', pem).update(input).digest('base64url'))}`
      },
    ],
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

describe('a service user', () => {})
