import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { calculateJwkThumbprint, createRemoteJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import { type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'

const JWKS = '/.well-known/openid-configuration/jwks'

const RSA = ['alg', 'e', 'kid', 'kty', 'n', 'use']
const EC = ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']
const OKP = ['alg', 'crv', 'kid', 'kty', 'use', 'x']

let instance: OAuthInstance
let robot: Robot

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ACTIVATION_GUARD: 'off' })
  robot = await instance.addRobot()
})

afterAll(() => instance?.stop())

async function publishedKeys(): Promise<JWK[]> {
  const { keys } = (await (await instance.fetch(JWKS)).json()) as { keys: JWK[] }
  return keys
}

async function publishedIds(): Promise<(string | undefined)[]> {
  return (await publishedKeys()).map(({ kid }) => kid)
}

async function createKey(config: object): Promise<string> {
  const { details } = await instance.callWebKeys<{ details: { keyId: string } }>('CreateWebKey', { config })
  return details.keyId
}

async function activateKey(keyId: string): Promise<void> {
  await instance.callWebKeys('ActivateWebKey', { keyId })
}

/** A verifier that has nothing in its cache. */
function newVerifier() {
  const keySet = createRemoteJWKSet(new URL(JWKS, instance.keyturn.baseUrl))
  return (token: string) => jwtVerify(token, keySet, { issuer: instance.keyturn.baseUrl, typ: 'at+jwt' })
}

describe('the key set [Spec §4.2]', () => {
  it('is a JWK Set of one key at first, at the address that Spec §1 names', async () => {
    const response = await instance.fetch(JWKS)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const set = (await response.json()) as { keys: JWK[] }
    expect(Object.keys(set)).toEqual(['keys'])
    expect(set.keys).toEqual([expect.objectContaining({ kty: 'RSA', alg: 'RS256', use: 'sig', e: 'AQAB' })])
  })

  it.each([
    ['the default', { rsa: {} }, 'RS256', RSA],
    ['RSA-3072, SHA-384', { rsa: { bits: 'RSA_BITS_3072', hasher: 'RSA_HASHER_SHA384' } }, 'RS384', RSA],
    ['P-256', { ecdsa: { curve: 'ECDSA_CURVE_P256' } }, 'ES256', EC],
    ['P-521', { ecdsa: { curve: 'ECDSA_CURVE_P521' } }, 'ES512', EC],
    ['Ed25519', { ed25519: {} }, 'EdDSA', OKP],
  ])(
    'has public members only, and lets jose verify what the key signs: %s [Spec §2.3] [RFC 7517 §4]',
    async (_, config, alg, members) => {
      const keyId = await createKey(config)
      const jwk = (await publishedKeys()).find(({ kid }) => kid === keyId)
      expect(Object.keys(jwk!).sort()).toEqual(members)
      expect(jwk).toMatchObject({ alg, use: 'sig', kid: await calculateJwkThumbprint(jwk!, 'sha256') })

      await activateKey(keyId)
      const token = await instance.accessToken(robot)
      expect(decodeProtectedHeader(token)).toEqual({ alg, kid: keyId, typ: 'at+jwt' })
      expect((await newVerifier()(token)).payload.sub).toBe(robot.userId)
    },
  )

  it('has the keys of all states: the active one first, then the newest [Spec §3]', async () => {
    await activateKey(await createKey({ ed25519: {} }))
    await createKey({ ed25519: {} })
    const { webKeys } = await instance.callWebKeys<{ webKeys: { keyId: string; state: string }[] }>('ListWebKeys')

    const states = webKeys.map(({ state }) => state)
    expect(new Set(states)).toEqual(new Set(['STATE_INITIAL', 'STATE_ACTIVE', 'STATE_INACTIVE']))
    expect(states.filter((state) => state === 'STATE_ACTIVE')).toHaveLength(1)
    const [active, ...others] = await publishedIds()
    expect(active).toBe(webKeys.find(({ state }) => state === 'STATE_ACTIVE')?.keyId)
    expect(others).toEqual(
      webKeys
        .map(({ keyId }) => keyId)
        .filter((keyId) => keyId !== active)
        .reverse(),
    )
  })
})

describe('a rotation', () => {
  it('is what the next token shows, and no sooner [Spec §3]', async () => {
    const kidOfNextToken = async () => decodeProtectedHeader(await instance.accessToken(robot)).kid
    const before = await kidOfNextToken()

    const keyId = await createKey({ ecdsa: { curve: 'ECDSA_CURVE_P256' } })
    expect(await publishedIds()).toContain(keyId)
    expect(await kidOfNextToken()).toBe(before)

    await activateKey(keyId)
    expect(await kidOfNextToken()).toBe(keyId)

    await activateKey(before!)
    expect(await kidOfNextToken()).toBe(before)
  })

  it('leaves the tokens of the old key good until the key is deleted [Spec §3]', async () => {
    const old = await createKey({ ed25519: {} })
    await activateKey(old)
    const token = await instance.accessToken(robot)
    const cached = newVerifier()
    await cached(token)

    await activateKey(await createKey({ ed25519: {} }))
    expect((await newVerifier()(token)).protectedHeader.kid).toBe(old)

    await instance.callWebKeys('DeleteWebKey', { keyId: old })
    expect(await publishedIds()).not.toContain(old)
    await expect(newVerifier()(token)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
    // Spec §3: a verifier may accept it until its copy of the key set expires.
    expect((await cached(token)).protectedHeader.kid).toBe(old)
  })
})
