import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, type JWTPayload, SignJWT } from 'jose'
import * as client from 'openid-client'
import type { PublicJwk } from '../../src/domain/keys/key-algorithm.ts'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import {
  basicCredentials,
  formOf,
  type OAuthInstance,
  type Robot,
  refusal,
  seen,
  startOAuthInstance,
} from '../support/oauth-instance.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const HOUR = 3600
const YESTERDAY = new Date(Date.now() - 86_400_000)
const TOMORROW = new Date(Date.now() + 86_400_000)

const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = ec()
const now = () => Math.floor(Date.now() / 1000)

let instance: OAuthInstance
let replica: Keyturn
let robot: Robot

beforeAll(async () => {
  instance = await startOAuthInstance()
  replica = await instance.startReplica()
  robot = await robotWithKey(key.publicKey)
})

afterAll(() => instance?.stop())

const AUD = 'aud must be the issuer, ISSUER, as a text and nothing else'
const ISS = 'iss must be the client_id'
const JTI = 'jti must be a text of 1 to 200 characters'

/** Claims with the addresses of the instance. */
function filledIn(claims: Record<string, unknown>, baseUrl = instance.keyturn.baseUrl): Record<string, unknown> {
  const text = JSON.stringify(claims)
    .replaceAll('ISSUER', baseUrl)
    .replaceAll('TOKEN_ENDPOINT', `${baseUrl}/oauth/v2/token`)
  return { ...claims, ...(JSON.parse(text) as Record<string, unknown>) }
}

type KeyOptions = { readonly kid?: string; readonly alg?: string; readonly expiresAt?: Date }

async function addKey(userId: string, publicKey: KeyObject, { expiresAt, ...members }: KeyOptions = {}) {
  const keyId = randomUUID()
  const publicJwk = { ...(publicKey.export({ format: 'jwk' }) as PublicJwk), ...members }
  const content = JSON.stringify({ publicJwk })
  await instance.seed.change(async (trx) => {
    await trx
      .insertInto('credentials')
      .values({
        credential_id: keyId,
        user_id: userId,
        kind: 'user_key',
        content,
        mac: instance.integrity.publicKeys.of('credentials', [userId, keyId, 'user_key', content]),
        creation_date: YESTERDAY,
        expiration_date: expiresAt ?? null,
      })
      .execute()
  })
  return keyId
}

async function robotWithKey(publicKey: KeyObject, options: KeyOptions & Parameters<OAuthInstance['addRobot']>[0] = {}) {
  const { kid, alg, expiresAt, ...user } = options
  const made = await instance.addRobot(user)
  const members = { ...(kid === undefined ? {} : { kid }), ...(alg === undefined ? {} : { alg }) }
  await addKey(made.userId, publicKey, { ...members, ...(expiresAt === undefined ? {} : { expiresAt }) })
  return made
}

type Header = { readonly alg?: string; readonly kid?: string }

/** A good assertion of a client, but for the claims that are given; undefined leaves a claim out. */
function assertionOf(
  { clientId }: Pick<Robot, 'clientId'>,
  claims: Record<string, unknown> = {},
  {
    privateKey = key.privateKey,
    alg = 'ES256',
    ...header
  }: Header & { readonly privateKey?: KeyObject | Uint8Array } = {},
): Promise<string> {
  const payload = {
    iss: clientId,
    sub: clientId,
    aud: instance.keyturn.baseUrl,
    jti: randomUUID(),
    iat: now(),
    exp: now() + 60,
    ...claims,
  }
  return new SignJWT(payload as JWTPayload).setProtectedHeader({ alg, ...header }).sign(privateKey)
}

const formWith = (assertion: string) => ({
  grant_type: 'client_credentials',
  client_assertion_type: ASSERTION_TYPE,
  client_assertion: assertion,
})

const present = (assertion: string, at = instance.keyturn) => instance.postForm(formWith(assertion), {}, at)
const statusOf = async (assertion: Promise<string>) => (await present(await assertion)).status

describe('openid-client with private_key_jwt [Spec §5]', () => {
  it.each([
    [
      'RS256',
      () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
      { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    ],
    ['ES256', ec, { name: 'ECDSA', namedCurve: 'P-256' }],
    ['Ed25519', () => generateKeyPairSync('ed25519'), { name: 'Ed25519' }],
  ])('discovers the service and gets a token with an assertion signed with %s', async (_, generate, algorithm) => {
    const { publicKey, privateKey } = generate()
    const user = await robotWithKey(publicKey, { kid: 'my-key' })
    const cryptoKey = privateKey.toCryptoKey(algorithm, false, ['sign'])
    const configuration = await client.discovery(
      new URL(instance.keyturn.baseUrl),
      user.clientId,
      undefined,
      client.PrivateKeyJwt({ key: cryptoKey, kid: 'my-key' }),
      { execute: [client.allowInsecureRequests] },
    )
    expect(configuration.serverMetadata().token_endpoint_auth_methods_supported).toContain('private_key_jwt')

    const tokens = await client.clientCredentialsGrant(configuration, { scope: 'openid' })
    expect(decodeJwt(tokens.access_token)).toMatchObject({ sub: user.userId, client_id: user.clientId })
  })
})

describe('a client assertion [RFC 7523 §3]', () => {
  it.each<[string, Record<string, unknown>]>([
    ['what it must have', {}],
    ['a clock that is a little ahead', { iat: now() + 30, nbf: now() + 30 }],
    ['claims that nobody knows', { nonce: 'x', scope: 'admin', roles: ['IAM_OWNER'] }],
  ])('gets a token with %s', async (_, claims) => {
    const answer = await seen(await present(await assertionOf(robot, filledIn(claims))))
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'Bearer', scope: 'openid' } })
  })

  it('may come with the client_id that it names, and asks for scopes like any other request [Spec §4.1]', async () => {
    const form = { ...formWith(await assertionOf(robot)), client_id: robot.clientId, scope: 'openid email' }
    expect(await seen(await instance.postForm(form))).toMatchObject({ status: 200, body: { scope: 'openid email' } })
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['another server as aud', { aud: 'https://elsewhere.example' }, AUD],
    ['the token endpoint as aud', { aud: 'TOKEN_ENDPOINT' }, AUD],
    ['a list with nothing but the issuer as aud [FAPI 2.0 Security Profile §5.3.2.1]', { aud: ['ISSUER'] }, AUD],
    ['no aud', { aud: undefined }, AUD],
    ['an exp that has passed', { exp: now() - 120 }, 'exp must lie in the future'],
    ['an exp that is more than an hour away', { exp: now() + HOUR + 300 }, 'exp must be at most 3600 seconds away'],
    ['an iat in the future', { iat: now() + 300 }, 'iat must not lie in the future'],
    ['an nbf in the future', { nbf: now() + 300 }, 'nbf must not lie in the future'],
    ['no jti', { jti: undefined }, JTI],
    ['a jti of 201 characters', { jti: 'x'.repeat(201) }, JTI],
    ['another iss', { iss: 'another' }, ISS],
  ])('is refused as invalid_client with %s, and told what is wrong', async (_, claims, description) => {
    const clientRequestId = randomUUID()
    const assertion = await assertionOf(robot, filledIn(claims))
    const response = await instance.postForm(formWith(assertion), { 'x-request-id': clientRequestId })
    const answer = await seen(response)
    expect(answer).toEqual(refusal(401, 'invalid_client'))
    const expected = description.replace('ISSUER', instance.keyturn.baseUrl)
    expect(answer.body).toEqual({ error: 'invalid_client', error_description: expected })
    // RFC 6749 §5.2: neither quotation marks nor backslashes.
    expect(expected).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    await eventually(() => {
      const line = instance.keyturn
        .output()
        .stderr.split('\n')
        .find((each) => each.includes(clientRequestId))
      const { failure, detail } = JSON.parse(line ?? '{}') as Record<string, unknown>
      expect({ failure, detail }).toEqual({ failure: 'invalid_client', detail: expected })
    })
  })

  it.each<[string, Record<string, unknown>]>([['a sub that is a list', { sub: ['a'], iss: 'a' }]])(
    'is refused as invalid_client with %s',
    async (_, claims) => {
      expect(await seen(await present(await assertionOf(robot, claims)))).toEqual(refusal(401, 'invalid_client'))
    },
  )

  it.each<[string, Record<string, unknown>]>([
    ['aud', { aud: 'https://elsewhere.example' }],
    ['jti', { jti: 'x'.repeat(201) }],
  ])('is told about %s in the same words whoever it names, and whoever signed it', async (_, claims) => {
    const stranger = { clientId: `${randomUUID()}@billing` }
    const withoutKeys = await instance.addRobot()
    const disabled = await robotWithKey(key.publicKey, { enabled: false })
    const assertions = [
      await assertionOf(robot, claims, { privateKey: ec().privateKey }),
      await assertionOf(stranger, claims),
      await assertionOf(withoutKeys, claims),
      await assertionOf(disabled, claims, { privateKey: ec().privateKey }),
      await assertionOf(disabled, claims),
    ]
    const bodies = await Promise.all(assertions.map(async (assertion) => (await seen(await present(assertion))).body))
    for (const body of bodies) expect(body).toEqual(bodies[0])
    expect((await seen(await present(await assertionOf(disabled, {})))).body).toEqual({
      error: 'invalid_client',
      error_description: 'client authentication failed',
    })
  })

  it.each<[string, () => Promise<string>]>([
    ['another key', () => assertionOf(robot, {}, { privateKey: ec().privateKey })],
    [
      'the public key as a secret (HS256)',
      () => assertionOf(robot, {}, { alg: 'HS256', privateKey: key.publicKey.export({ format: 'der', type: 'spki' }) }),
    ],
    [
      'the signature of another assertion',
      async () => withSignatureOf(await assertionOf(robot), await assertionOf(robot)),
    ],
    [
      'a key of another kind',
      () => assertionOf(robot, {}, { alg: 'EdDSA', privateKey: generateKeyPairSync('ed25519').privateKey }),
    ],
  ])('is refused as invalid_client when it is signed with %s', async (_, make) => {
    const answer = await seen(await present(await make()))
    expect(answer).toEqual(refusal(401, 'invalid_client'))
    expect(answer.body).toEqual({ error: 'invalid_client', error_description: 'client authentication failed' })
  })

  it.each([
    ['no type', {}],
    ['a type with its prefix', { typ: 'application/client-authentication+jwt' }],
  ])('gets a token with %s in its header [RFC 8725 §3.11]', async (_, header) => {
    expect((await present(withHeader(await assertionOf(robot), header))).status).toBe(200)
  })

  it.each<[string, object]>([
    ['the type of access tokens [RFC 8725 §3.11]', { typ: 'at+jwt' }],
    ['the type of logout tokens [RFC 8725 §3.11]', { typ: 'logout+jwt' }],
    ['an unencoded payload [RFC 7797 §7]', { b64: false, crit: ['b64'] }],
  ])('is refused as invalid_client with %s in its header', async (_, header) => {
    const answer = await seen(await present(withHeader(await assertionOf(robot), header)))
    expect(answer).toEqual(refusal(401, 'invalid_client'))
    expect(answer.body).toMatchObject({ error_description: expect.stringMatching(/^(typ|crit and b64) must /) })
  })

  it('is refused as invalid_client with an extension that must be understood [RFC 7515 §4.1.11]', async () => {
    const assertion = withHeader(await assertionOf(robot), { crit: ['exp'], exp: 1 })
    expect(await seen(await present(assertion))).toEqual(refusal(401, 'invalid_client'))
  })

  it.each<[string, () => Promise<string>]>([
    ['the algorithm none', async () => unsigned(await assertionOf(robot), { alg: 'none' })],
    ['an algorithm, and no signature', async () => (await assertionOf(robot)).replace(/[^.]+$/, '')],
  ])('is refused as invalid_client without a signature, with %s', async (_, make) => {
    expect(await seen(await present(await make()))).toEqual(refusal(401, 'invalid_client'))
  })

  it('is refused as invalid_client with padding [RFC 7515 §2]', async () => {
    const padded = `${await assertionOf(robot)}==`
    const answer = await seen(await present(padded))
    expect(answer).toEqual(refusal(401, 'invalid_client'))
    expect(answer.body).toMatchObject({ error_description: 'the assertion must be base64url without padding' })
  })

  it.each(['', 'a.b.c'])('is refused as invalid_client when it is %j', async (assertion) => {
    expect(await seen(await present(assertion))).toEqual(refusal(401, 'invalid_client'))
  })

  it('is refused as invalid_request without its type, with another, and for another client_id', async () => {
    const { client_assertion_type: _, ...withoutType } = formWith(await assertionOf(robot))
    const answers = [
      await instance.postForm(withoutType),
      await instance.postForm({ ...withoutType, client_assertion_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer' }),
      await instance.postForm({ ...formWith(await assertionOf(robot)), client_id: 'another' }),
    ]
    for (const answer of answers) expect(await seen(answer)).toEqual(refusal(400, 'invalid_request'))
  })

  it('is refused as invalid_request together with a secret, in the form or in HTTP Basic [RFC 6749 §2.3]', async () => {
    const both = { ...formOf(robot), ...formWith(await assertionOf(robot)) }
    expect(await seen(await instance.postForm(both))).toEqual(refusal(400, 'invalid_request'))

    const authorization = basicCredentials(robot.clientId, robot.clientSecret)
    const header = await instance.postForm(formWith(await assertionOf(robot)), { authorization })
    expect(await seen(header)).toEqual(refusal(400, 'invalid_request'))
  })
})

describe('KEYTURN_ASSERTION_AUDIENCE=endpoint', () => {
  let lenient: Keyturn
  beforeAll(async () => {
    lenient = await instance.startReplica({ KEYTURN_ASSERTION_AUDIENCE: 'endpoint' })
  })

  it.each<[string, unknown]>([
    ['the token endpoint', 'TOKEN_ENDPOINT'],
    ['a list with nothing but the token endpoint', ['TOKEN_ENDPOINT']],
  ])('takes %s as aud', async (_, aud) => {
    expect((await present(await assertionOf(robot, filledIn({ aud })), lenient)).status).toBe(200)
  })

  it.each<[string, unknown]>([
    ['another server', 'https://elsewhere.example'],
    ['both in a list', ['ISSUER', 'TOKEN_ENDPOINT']],
  ])('refuses %s as aud, and says which two it takes', async (_, aud) => {
    const answer = await seen(await present(await assertionOf(robot, filledIn({ aud })), lenient))
    expect(answer).toEqual(refusal(401, 'invalid_client'))
    const { baseUrl } = instance.keyturn
    expect(answer.body).toMatchObject({
      error_description: `aud must be the issuer, ${baseUrl}, or the token endpoint, ${baseUrl}/oauth/v2/token, and nothing else`,
    })
  })
})

describe('using an assertion again', () => {
  it('is refused on the same replica and on another', async () => {
    const assertion = await assertionOf(robot)
    expect((await present(assertion)).status).toBe(200)
    for (const at of [instance.keyturn, replica]) {
      const answer = await seen(await present(assertion, at))
      expect(answer).toEqual(refusal(401, 'invalid_client'))
      expect(answer.body).toMatchObject({ error_description: 'jti must not have been used before' })
    }
  })

  it('works for exactly one of many requests to two replicas at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const assertion = await assertionOf(robot)
      const replicas = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? instance.keyturn : replica))
      const statuses = await Promise.all(replicas.map(async (at) => (await present(assertion, at)).status))
      expect(statuses.sort()).toEqual([200, ...Array.from({ length: 9 }, () => 401)])
    }
  })

  it('is not mixed up with an assertion of another client that has the same jti', async () => {
    const other = await robotWithKey(key.publicKey)
    const jti = randomUUID()
    expect(await statusOf(assertionOf(robot, { jti }))).toBe(200)
    expect(await statusOf(assertionOf(other, { jti }))).toBe(200)
    expect(await statusOf(assertionOf(robot, { jti }))).toBe(401)
  })

  it('is possible after a refusal that came before the assertion was good', async () => {
    const jti = randomUUID()
    expect(await statusOf(assertionOf(robot, { jti }, { privateKey: ec().privateKey }))).toBe(401)
    expect(await statusOf(assertionOf(robot, { jti, aud: 'https://elsewhere.example' }))).toBe(401)
    expect(await statusOf(assertionOf(robot, { jti }))).toBe(200)
  })
})

describe('the keys of a user', () => {
  it('work until they expire', async () => {
    const [later, earlier] = [ec(), ec()]
    const user = await robotWithKey(later.publicKey, { expiresAt: TOMORROW })
    await addKey(user.userId, earlier.publicKey, { expiresAt: new Date(Date.now() - 1000) })
    await eventually(async () => expect(await statusOf(assertionOf(user, {}, later))).toBe(200))
    expect(await seen(await present(await assertionOf(user, {}, earlier)))).toEqual(refusal(401, 'invalid_client'))
  })

  it('stop working on every replica when they are removed', async () => {
    const user = await robotWithKey(key.publicKey)
    expect(await statusOf(assertionOf(user))).toBe(200)
    expect((await present(await assertionOf(user), replica)).status).toBe(200)
    await instance.seed.change(async (trx) => {
      await trx.deleteFrom('credentials').where('user_id', '=', user.userId).execute()
    })
    for (const at of [instance.keyturn, replica]) {
      await eventually(async () => {
        expect(await seen(await present(await assertionOf(user), at))).toEqual(refusal(401, 'invalid_client'))
      })
    }
  })

  it('can be named by the kid that they have, by the id that Keyturn gave them, or not at all', async () => {
    const [named, unnamed] = [ec(), ec()]
    const user = await instance.addRobot()
    await addKey(user.userId, named.publicKey, { kid: 'mine' })
    const keyId = await addKey(user.userId, unnamed.publicKey)

    expect(await statusOf(assertionOf(user, {}, { ...named, kid: 'mine' }))).toBe(200)
    expect(await statusOf(assertionOf(user, {}, { ...unnamed, kid: keyId }))).toBe(200)
    expect(await statusOf(assertionOf(user, {}, named))).toBe(200)
    expect(await statusOf(assertionOf(user, {}, unnamed))).toBe(200)
    expect(await statusOf(assertionOf(user, {}, { ...named, kid: keyId }))).toBe(401)
  })

  it('sign with the algorithm that they are for, if they name one', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const user = await robotWithKey(rsa.publicKey, { alg: 'PS256' })
    expect(await statusOf(assertionOf(user, {}, { ...rsa, alg: 'PS256' }))).toBe(200)
    expect(await statusOf(assertionOf(user, {}, { ...rsa, alg: 'RS256' }))).toBe(401)
  })
})

describe('a client with an assertion, like one with a secret [Spec §7]', () => {
  it('gets the same answer for everything that is not good', async () => {
    const stranger = { clientId: `${randomUUID()}@billing` }
    const withoutKeys = await instance.addRobot()
    const disabled = await robotWithKey(key.publicKey, { enabled: false })
    const withoutGrant = await robotWithKey(key.publicKey, { clientCredentialsEnabled: false })
    const wrongKey = { privateKey: ec().privateKey }
    const assertions = [
      await assertionOf(stranger),
      await assertionOf({ clientId: 'no client ID' }),
      await assertionOf(withoutKeys),
      await assertionOf(disabled),
      await assertionOf(disabled, {}, wrongKey),
      await assertionOf(withoutGrant, {}, wrongKey),
      await assertionOf({ clientId: `${robot.userId}@elsewhere` }, {}, wrongKey),
      await assertionOf(robot, {}, wrongKey),
    ]
    const answers = await Promise.all(assertions.map(async (assertion) => seen(await present(assertion))))
    for (const answer of answers) expect(answer).toEqual(refusal(401, 'invalid_client'))
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  })
})

/** An assertion with another header and no signature. */
function unsigned(assertion: string, header: object): string {
  return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${assertion.split('.')[1]}.`
}

/** The claims of an assertion, signed with these members in the header, whatever they are. */
function withHeader(assertion: string, header: object): string {
  const protectedHeader = Buffer.from(JSON.stringify({ alg: 'ES256', ...header })).toString('base64url')
  const input = `${protectedHeader}.${assertion.split('.')[1]}`
  const signature = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

function withSignatureOf(assertion: string, other: string): string {
  return `${assertion.slice(0, assertion.lastIndexOf('.'))}${other.slice(other.lastIndexOf('.'))}`
}
