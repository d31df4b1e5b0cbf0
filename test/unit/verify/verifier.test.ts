/**
 * Tokens that a real issuer never issues, signed by a key that it publishes.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import { createVerifier, type Verifier } from '../../../packages/verify/src/index.ts'
import { json, type ScriptedIssuer, startScriptedIssuer } from '../../support/scripted-issuer.ts'

const HEADER: JWTHeaderParameters = { alg: 'ES256', kid: 'one', typ: 'at+jwt' }

let server: ScriptedIssuer
let verifier: Verifier
let good: JWTPayload
let keys: Awaited<ReturnType<typeof generateKeyPair>>

beforeAll(async () => {
  server = await startScriptedIssuer()
  keys = await generateKeyPair('ES256')
  server.publish(json(200, { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] }))
  verifier = createVerifier({ issuer: server.issuer, audience: 'shop' })
  const seconds = Math.floor(Date.now() / 1000)
  const dates = { iat: seconds, exp: seconds + 600 }
  good = { iss: server.issuer, aud: ['other', 'shop'], sub: 'user', client_id: 'user@shop', jti: 'one', ...dates }
})
afterAll(() => server.stop())

function sign(claims: JWTPayload, header: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ ...HEADER, ...header }).sign(keys.privateKey)
}

describe('a verifier', () => {
  it('accepts a token as it must be, whatever the case of its type', async () => {
    expect(await verifier.verify(await sign(good))).toMatchObject({ subject: 'user', scopes: [], roles: [] })
    await verifier.verify(await sign(good, { typ: 'application/AT+JWT' }))
  })

  it.each(['JWT', 'logout+jwt', undefined])('refuses the type %s [RFC 9068 §4]', async (typ) => {
    await expect(verifier.verify(await sign(good, { typ }))).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it.each(['iss', 'aud', 'sub', 'exp', 'iat', 'client_id', 'jti'])(
    'requires the claim %s [RFC 9068 §2.2]',
    async (claim) => {
      const token = await sign({ ...good, [claim]: undefined })
      await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'invalid_token' })
    },
  )

  it.each<[string, JWTPayload]>([
    ['of another issuer', { iss: 'https://other.example.com' }],
    ['for another audience', { aud: ['shopping'] }],
    ['that is not valid yet', { nbf: 4_102_444_800 }],
    ['that has expired', { exp: Math.floor(Date.now() / 1000) - 60 }],
  ])('refuses a token %s', async (_, claims) => {
    await expect(verifier.verify(await sign({ ...good, ...claims }))).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it.each([
    ['without the id of a key', { kid: undefined }],
    ['with the id of another key', { kid: 'two' }],
  ])('refuses a token %s', async (_, header) => {
    await expect(verifier.verify(await sign(good, header))).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it('refuses a token that another key has signed, of the same algorithm or of another', async () => {
    for (const alg of ['ES256', 'RS256', 'EdDSA']) {
      const { privateKey } = await generateKeyPair(alg)
      const token = await new SignJWT(good).setProtectedHeader({ ...HEADER, alg }).sign(privateKey)
      await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'invalid_token' })
    }
  })

  it('refuses a token that is signed with the public key as a secret [RFC 8725 §2.1]', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey)))
    const token = await new SignJWT(good).setProtectedHeader({ ...HEADER, alg: 'HS256' }).sign(secret)
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it('refuses what is no text', async () => {
    const token = undefined as unknown as string
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it.each([
    ['sub', null],
    ['sub', { user: 1 }],
    ['client_id', 7],
  ])('refuses a token whose %s is no text', async (claim, value) => {
    const token = await sign({ ...good, [claim]: value })
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it('requires all of its scopes', async () => {
    const own = verifier.requiring({ requiredScopes: ['read', 'write'] })
    await expect(own.verify(await sign({ ...good, scope: 'read' }))).rejects.toMatchObject({
      code: 'insufficient_scope',
    })
    await own.verify(await sign({ ...good, scope: 'write read' }))
  })

  it.each([
    ['to a key', { jkt: 'thumbprint' }, 'is bound to a key'],
    ['in an unknown way', { kid: 'one' }, 'is bound in a way that is not known here'],
    ['in two ways', { jkt: 'one', 'x5t#S256': 'two' }, 'is bound in a way that is not known here'],
  ])('refuses a token that is bound %s, without what it is bound to', async (_, cnf, message) => {
    const refused = { code: 'invalid_token', message: `the access token ${message}` }
    await expect(verifier.verify(await sign({ ...good, cnf }))).rejects.toMatchObject(refused)
  })

  it('takes roles only as a list of texts', async () => {
    const claim = 'urn:service:iam:org:project:shop:roles'
    const own = verifier.requiring({ requiredRoles: ['admin'] })
    for (const roles of ['admin', { admin: true }, [['admin']]])
      await expect(own.verify(await sign({ ...good, [claim]: roles }))).rejects.toMatchObject({ status: 403 })
    await own.verify(await sign({ ...good, [claim]: ['admin'] }))
  })
})

describe('the issuer of a verifier', () => {
  it.each(['http://id.example.com', 'https://id.example.com/', 'id.example.com'])('cannot be %s', (issuer) => {
    expect(() => createVerifier({ issuer, audience: 'shop' })).toThrow(TypeError)
  })

  it.each([
    ['are those of another issuer', { issuer: 'https://other.example.com' }],
    ['name keys at an address without TLS', { jwks_uri: 'http://other.example.com/jwks' }],
  ])('is not trusted if its metadata %s', async (_, metadata) => {
    const issuer = await startScriptedIssuer()
    issuer.describe(metadata)
    const own = createVerifier({ issuer: issuer.issuer, audience: 'shop' })
    await expect(own.verify(await sign({ ...good, iss: issuer.issuer }))).rejects.toMatchObject({ code: 'unavailable' })
    expect(issuer.jwksFetches()).toBe(0)
    await issuer.stop()
  })
})
