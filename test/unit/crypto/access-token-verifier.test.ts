import { createHmac, createPublicKey } from 'node:crypto'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { type JWTPayload, SignJWT } from 'jose'
import { createAccessTokenVerifier } from '../../../src/crypto/access-token-verifier.ts'
import { createKeyPairGenerator } from '../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../../src/crypto/sealed-key.ts'
import { DomainError, type DomainErrorCode } from '../../../src/domain/errors.ts'
import { SERVICE_AUDIENCE_SCOPE } from '../../../src/domain/identities/token-grant.ts'
import type { KeyRing, SealedKeyPair } from '../../../src/domain/keys/key-ring.ts'
import { activate, createWebKey } from '../../../src/domain/keys/web-key.ts'

const issuer = 'https://keyturn.example'
const audience = 'https://keyturn.example/api'
const subject = '0b6e2f5c-9a3d-4a57-8f65-0f8f0a4f8f11'
/** How far the time of the instance is ahead of this machine's. */
let secondsOff = 0
const verifier = createAccessTokenVerifier({
  issuer,
  audience,
  now: () => new Date(Date.now() + secondsOff * 1000),
})

const sealer = createKeySealer(parseMasterKeys(generateMasterKey()))
const generator = createKeyPairGenerator(sealer)
const now = Math.floor(Date.now() / 1000)
const date = new Date(now * 1000)
const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

let rsa: SealedKeyPair
let ec: SealedKeyPair
let stranger: SealedKeyPair
let ring: KeyRing

beforeAll(async () => {
  rsa = await generator.generate({ kind: 'rsa', bits: 2048, hasher: 'sha256' })
  ec = await generator.generate({ kind: 'ecdsa', curve: 'P-256' })
  stranger = await generator.generate({ kind: 'rsa', bits: 2048, hasher: 'sha256' })
  ring = [createWebKey(ec, date), activate(createWebKey(rsa, date), date)]
})

const goodClaims = (): JWTPayload => ({
  iss: issuer,
  aud: ['some-project', audience],
  sub: subject,
  jti: 'token-1',
  iat: now,
  exp: now + 3600,
})

interface Forgery {
  readonly signedBy?: SealedKeyPair
  readonly header?: Record<string, unknown>
  readonly claims?: Record<string, unknown>
}

/** A token that is right except for what is given; `undefined` leaves a member out. */
async function token({ signedBy = rsa, header = {}, claims = {} }: Forgery = {}): Promise<string> {
  return new SignJWT({ ...goodClaims(), ...claims })
    .setProtectedHeader({ alg: signedBy.algorithm, kid: signedBy.keyId, typ: 'at+jwt', ...header })
    .sign(await sealer.open(signedBy.sealedPrivateKey, signedBy))
}

async function refusalOf(text: string, code: DomainErrorCode = 'token_invalid'): Promise<DomainError> {
  const refusal = await verifier.verify(text, ring).catch((error: unknown) => error)
  if (!(refusal instanceof DomainError)) throw new Error(`not a refusal: ${String(refusal)}`)
  expect(refusal.code).toBe(code)
  expect(refusal.metadata).toEqual({})
  if (code === 'token_invalid') expect(refusal.cause).toBeDefined()
  return refusal
}

const NOT_VALID = 'the access token is not valid'

describe('an access token', () => {
  it.each([600, -600])('goes by the time of the instance, also when that is %d s ahead', async (seconds) => {
    secondsOff = seconds
    try {
      const goodThen = await token({ claims: { iat: now + seconds - 5, exp: now + seconds + 60 } })
      expect(await verifier.verify(goodThen, ring)).toMatchObject({ subject })
      const expiredThen = await token({ claims: { iat: now + seconds - 60, exp: now + seconds - 5 } })
      await expect(verifier.verify(expiredThen, ring)).rejects.toMatchObject({ code: 'token_invalid' })
    } finally {
      secondsOff = 0
    }
  })

  it('tells its subject, its key, its id and its dates when one of the ring signed it for this service', async () => {
    expect(await verifier.verify(await token({ claims: { exp: now + 90 } }), ring)).toMatchObject({
      subject,
      credential: {
        kind: 'access_token',
        keyId: rsa.keyId,
        tokenId: 'token-1',
        expiresAt: new Date((now + 90) * 1000),
      },
      boundTo: null,
    })
  })

  it('tells the key or the certificate to which it is bound [RFC 9449 §6.1, RFC 8705 §3.1]', async () => {
    for (const [member, kind] of [
      ['jkt', 'dpop'],
      ['x5t#S256', 'certificate'],
    ] as const) {
      const bound = await token({ claims: { cnf: { [member]: 'thumbprint' } } })
      expect(await verifier.verify(bound, ring)).toMatchObject({ boundTo: { kind, thumbprint: 'thumbprint' } })
    }
  })

  it.each([{}, null, 'x', { jkt: 1 }, { 'x5t#S256': 1 }, { jwk: 'x' }, { jkt: 'x', 'x5t#S256': 'x' }])(
    'is not valid if it is bound in a way that cannot be checked: %j [RFC 7800 §3.1]',
    async (cnf) => {
      await expect(verifier.verify(await token({ claims: { cnf } }), ring)).rejects.toMatchObject({
        code: 'token_invalid',
      })
    },
  )
})

describe('an access token is refused', () => {
  it('when it has expired, with a hint', async () => {
    const text = await token({ claims: { iat: now - 7200, exp: now - 1 } })
    expect((await refusalOf(text)).message).toBe('the access token has expired: get a new one')
  })

  it.each([
    ['another service', 'https://other.example'],
    ['projects only', ['some-project']],
    ['nobody', []],
    ['no stated audience', undefined],
  ])('when it is for %s, with the scope to ask for', async (_, aud) => {
    expect((await refusalOf(await token({ claims: { aud } }))).message).toContain(SERVICE_AUDIENCE_SCOPE)
  })

  it.each<[string, Record<string, unknown>]>([
    ['another issuer', { iss: 'https://evil.example' }],
    ['an issuer that only starts alike', { iss: `${issuer}/` }],
    ['no issuer', { iss: undefined }],
    ['no subject', { sub: undefined }],
    ['no time of issue', { iat: undefined }],
    ['no expiry', { exp: undefined }],
    ['a time before which it is not valid', { nbf: now + 3600 }],
  ])('when it has %s', async (_, claims) => {
    expect((await refusalOf(await token({ claims }))).message).toBe(NOT_VALID)
  })

  it.each<[string, Record<string, unknown>]>([
    ['the type of other JWTs', { typ: 'JWT' }],
    ['no type', { typ: undefined }],
    ['no key id', { kid: undefined }],
    ['an unknown key id', { kid: 'unknown' }],
    ['a key of its own in the header', { kid: undefined, jwk: { kty: 'oct', k: 'AAAA' } }],
    ['another algorithm of the same kind of key', { alg: 'RS512' }],
    ['an algorithm that no web key has', { alg: 'PS256' }],
  ])('when it has %s', async (_, header) => {
    expect((await refusalOf(await token({ header }))).message).toBe(NOT_VALID)
  })

  it('when it has an extension that must be understood', async () => {
    const header = base64url({ alg: 'RS256', kid: rsa.keyId, typ: 'at+jwt', crit: ['exp'], exp: now + 3600 })
    const [, ...rest] = (await token()).split('.')
    expect((await refusalOf([header, ...rest].join('.'))).message).toBe(NOT_VALID)
  })

  it('when a stranger signed it with the name of a key of the ring', async () => {
    const text = await token({ signedBy: stranger, header: { kid: rsa.keyId } })
    expect((await refusalOf(text)).message).toBe(NOT_VALID)
  })

  it('when a stranger signed it with a key of their own, which may be one that is not known here yet', async () => {
    const text = await token({ signedBy: stranger })
    expect((await refusalOf(text, 'token_key_unknown')).message).toBe(NOT_VALID)
  })

  it.each(['none', 'None', 'NONE', ''])('when it is not signed (alg %j)', async (alg) => {
    const unsigned = `${base64url({ alg, kid: rsa.keyId, typ: 'at+jwt' })}.${base64url(goodClaims())}.`
    expect((await refusalOf(unsigned)).message).toBe(NOT_VALID)
  })

  it.each<[string, () => string | Buffer]>([
    [
      'PEM',
      () => createPublicKey({ key: { ...rsa.publicJwk }, format: 'jwk' }).export({ format: 'pem', type: 'spki' }),
    ],
    ['JWK', () => JSON.stringify(rsa.publicJwk)],
  ])('when it is signed with HS256 and the public key as the secret (%s)', async (_, secret) => {
    const input = `${base64url({ alg: 'HS256', kid: rsa.keyId, typ: 'at+jwt' })}.${base64url(goodClaims())}`
    const mac = createHmac('sha256', secret()).update(input).digest('base64url')
    expect((await refusalOf(`${input}.${mac}`)).message).toBe(NOT_VALID)
  })

  it.each([0, 1, 2])('when part %d of it was changed or is missing', async (part) => {
    const parts = (await token()).split('.')
    const original = parts[part]!
    const middle = original.length >> 1
    const changed = `${original.slice(0, middle)}${original[middle] === 'A' ? 'B' : 'A'}${original.slice(middle + 1)}`
    // The middle of the header is in the name of the key.
    const refusal = await verifier.verify(parts.with(part, changed).join('.'), ring).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: expect.stringMatching(/^token_(invalid|key_unknown)$/), message: NOT_VALID })
    expect((await refusalOf(parts.with(part, '').join('.'))).message).toBe(NOT_VALID)
    expect((await refusalOf(parts.toSpliced(part, 1).join('.'))).message).toBe(NOT_VALID)
  })

  it.each([0, 1, 2])('when part %d of it is spelt in another way than its bytes are [RFC 7515 §2]', async (part) => {
    // A part whose last character holds bits that no byte needs: the length of its bytes is no multiple of 3.
    let text = await token()
    for (let filler = ''; (text.split('.')[part] as string).length % 4 === 0; filler += 'x') {
      text = await token({ claims: { filler }, header: { filler } })
    }
    expect((await verifier.verify(text, ring)).subject).toBe(subject)

    const parts = text.split('.')
    const original = parts[part] as string
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const altered = original.slice(0, -1) + alphabet[alphabet.indexOf(original.at(-1) as string) + 1]
    expect(Buffer.from(altered, 'base64url')).toEqual(Buffer.from(original, 'base64url'))
    const padded = original.padEnd(original.length + 4 - (original.length % 4), '=')
    for (const spelling of [altered, padded, `${original}=`, `${original} `, `${original}\n`]) {
      expect((await refusalOf(parts.with(part, spelling).join('.'))).message).toBe(NOT_VALID)
    }
  })

  it('when it is longer than 15 KiB, however genuine', async () => {
    const longest = 15 * 1024
    const short = await token({ claims: { filler: 'x'.repeat(10_000) } })
    const long = await token({ claims: { filler: 'x'.repeat(12_000) } })
    expect(short.length).toBeLessThanOrEqual(longest)
    expect(long.length).toBeGreaterThan(longest)
    expect(await verifier.verify(short, ring)).toMatchObject({ subject })
    expect((await refusalOf(long)).message).toBe(NOT_VALID)
    expect((await refusalOf('.'.repeat(100_000))).message).toBe(NOT_VALID)
  })
})
