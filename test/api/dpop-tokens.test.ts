import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { calculateJwkThumbprint, decodeJwt, type JWK, type JWTPayload, SignJWT } from 'jose'
import { newProofKey, newRsaProofKey, type ProofKey, type ProofOptions, proofOf } from '../support/dpop.ts'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { formOf, type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'

const AGO = 3600

let instance: OAuthInstance
let replica: Keyturn
let robot: Robot
let key: ProofKey
let endpoint: string

beforeAll(async () => {
  instance = await startOAuthInstance()
  replica = await instance.startReplica()
  robot = await instance.addRobot()
  key = await newProofKey()
  endpoint = `${instance.keyturn.baseUrl}/oauth/v2/token`
})

afterAll(() => instance?.stop())

const now = () => Math.floor(Date.now() / 1000)
const proof = (options: Partial<ProofOptions> = {}, by = key) => proofOf(by, { url: endpoint, ...options })

const requestWith = (dpop: string, at = instance.keyturn, form: Record<string, string> = formOf(robot)) =>
  instance.postForm(form, { dpop }, at)

/** Signed with a secret that the server would have to know. */
const hmacProof = (jwk: object) =>
  new SignJWT({ jti: randomUUID(), htm: 'POST', htu: endpoint, iat: now() } as JWTPayload)
    .setProtectedHeader({ alg: 'HS256', typ: 'dpop+jwt', jwk: jwk as JWK })
    .sign(Buffer.from(JSON.stringify(jwk)))

/** The last character of a signature of 64 bytes has four bits that mean nothing. */
const respelt = (jwt: string) => jwt.slice(0, -1) + { A: 'B', Q: 'R', g: 'h', w: 'x' }[jwt.at(-1)!]

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

describe('a token request with a DPoP proof', () => {
  it('gets a token of the type DPoP that is bound to the key of the proof [RFC 9449 §5, §6.1]', async () => {
    const response = await requestWith(await proof())
    const answer = (await response.json()) as { access_token: string; token_type: string }
    expect(response.status).toBe(200)
    expect(answer.token_type).toBe('DPoP')
    expect(decodeJwt(answer.access_token)).toMatchObject({ sub: robot.userId, cnf: { jkt: key.jkt } })
  })

  it('gets one with HTTP Basic and with a key of each kind', async () => {
    const pairs: [string, ReturnType<typeof generateKeyPairSync>][] = [
      ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
      ['EdDSA', generateKeyPairSync('ed25519')],
      ['PS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ]
    for (const [alg, { privateKey, publicKey }] of pairs) {
      const publicJwk = publicKey.export({ format: 'jwk' }) as JWK
      const by = { privateKey, publicJwk, alg, jkt: await calculateJwkThumbprint(publicJwk) }
      const authorization = `Basic ${btoa(`${encodeURIComponent(robot.clientId)}:${robot.clientSecret}`)}`
      const response = await instance.postForm(
        { grant_type: 'client_credentials' },
        { authorization, dpop: await proof({}, by) },
      )
      const { access_token: token } = (await response.json()) as { access_token: string }
      expect(decodeJwt(token)).toMatchObject({ cnf: { jkt: by.jkt } })
    }
  })

  it('without one gets a bearer token, which is bound to nothing', async () => {
    const token = await instance.accessToken(robot)
    expect(decodeJwt(token)).not.toHaveProperty('cnf')
  })

  it('is granted once, when two replicas get the same proof at the same time [RFC 9449 §11.1]', async () => {
    for (const _ of Array.from({ length: 5 })) {
      const same = await proof()
      const responses = await Promise.all(
        [instance.keyturn, replica, instance.keyturn, replica].map((at) => requestWith(same, at)),
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
      const refused = responses.find(({ status }) => status === 400)!
      expect(await seen(refused)).toEqual(refusal(400, 'invalid_dpop_proof'))
    }
  })

  it('may be repeated after the client was refused, because only a token uses a proof up', async () => {
    const same = await proof()
    expect((await requestWith(same, instance.keyturn, { ...formOf(robot), client_secret: 'wrong' })).status).toBe(401)
    expect((await requestWith(same, instance.keyturn, { ...formOf(robot), scope: 'unknown' })).status).toBe(400)
    expect((await requestWith(same)).status).toBe(200)
  })
})

describe('a user who gets bound tokens only', () => {
  let user: Robot
  beforeAll(async () => {
    user = await instance.addRobot()
    await instance.accessToken(user)
    await instance.call('iam.user.v2.ServiceUserService/UpdateServiceUser', {
      userId: user.userId,
      boundTokensRequired: true,
      updateMask: 'boundTokensRequired',
    })
  })

  it('is refused without a proof, on all replicas [RFC 9449 §5.2]', async () => {
    await eventually(async () => {
      for (const at of [instance.keyturn, replica]) {
        expect(await seen(await instance.postForm(formOf(user), {}, at))).toEqual(refusal(400, 'invalid_request'))
      }
    })
  })

  it('gets a bound token with one', async () => {
    const response = await requestWith(await proof(), instance.keyturn, formOf(user))
    expect(await response.json()).toMatchObject({ token_type: 'DPoP' })
  })
})

describe('a proof is refused [RFC 9449 §4.3]', () => {
  it.each<[string, () => string | Promise<string>]>([
    ['that is empty (check 2)', () => ''],
    ['with padding', async () => `${await proof()}=`],
    ['in another spelling of its signature', async () => respelt(await proof())],
    ['of 5000 characters', async () => proof({ claims: { more: 'x'.repeat(5000) } })],
    ['without jti (check 3)', () => proof({ claims: { jti: undefined } })],
    ['without htu (check 3)', () => proof({ claims: { htu: undefined } })],
    ['of another type (check 4)', () => proof({ header: { typ: 'JWT' } })],
    [
      'with the algorithm none (check 5)',
      () =>
        `${encode({ alg: 'none', typ: 'dpop+jwt', jwk: key.publicJwk })}.${encode({ jti: 'a', htm: 'POST', htu: endpoint, iat: now() })}.`,
    ],
    ['with PKCS #1 v1.5 [FAPI 2.0 Security Profile §5.4.1]', async () => proof({}, await newRsaProofKey('RS256'))],
    ['with HMAC under the public key (check 5)', () => hmacProof(key.publicJwk)],
    [
      'by another key than that in the header (check 6)',
      async () => proof({}, { ...key, publicJwk: (await newProofKey()).publicJwk }),
    ],
    ['without a key in the header', () => proof({ header: { jwk: undefined } })],
    [
      'with the private key in the header (check 7)',
      () => proof({ header: { jwk: key.privateKey.export({ format: 'jwk' }) } }),
    ],
    ['with an extension that is critical', () => proof({ header: { crit: ['x'], x: 1 } })],
    ['for another method (check 8)', () => proof({ method: 'GET' })],
    ['for another path (check 9)', () => proof({ url: `${endpoint}/` })],
    ['that has expired by its own words', () => proof({ claims: { exp: now() - 61 } })],
    [
      'that is valid in two minutes [FAPI 2.0 Security Profile §5.3.2.1]',
      () => proof({ claims: { nbf: now() + 120 } }),
    ],
  ])('%s', async (_, make) => {
    expect(await seen(await requestWith(await make()))).toEqual(refusal(400, 'invalid_dpop_proof'))
  })

  it('when there are two of them (check 1)', async () => {
    const proofs = [await proof(), await proof()]
    const status = await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', dpop: proofs }
      const outgoing = request(`${instance.keyturn.listenUrl}/oauth/v2/token`, { method: 'POST', headers })
      outgoing.once('error', reject).once('response', (response) => resolve(response.resume().statusCode))
      outgoing.end(new URLSearchParams(formOf(robot)).toString())
    })
    expect(status).toBe(400)
  })

  it('and the answer says what is wrong, and nothing of the key', async () => {
    const { body } = await seen(
      await requestWith(await proof({ header: { jwk: key.privateKey.export({ format: 'jwk' }) } })),
    )
    expect(body).toMatchObject({ error_description: expect.stringContaining('private') })
    expect(JSON.stringify(body)).not.toContain(key.privateKey.export({ format: 'jwk' }).d)
  })
})

describe('a nonce for DPoP proofs [RFC 9449 §8]', () => {
  const nonceFor = async (claims: Record<string, unknown>) => {
    const response = await requestWith(await proof({ claims }))
    expect(await seen(response)).toEqual(refusal(400, 'use_dpop_nonce'))
    return response.headers.get('dpop-nonce')!
  }

  it.each([
    ['old', -AGO],
    ['in the future', AGO],
  ])('is asked for when iat is %s, and makes up for the clock of the client', async (_, seconds) => {
    const iat = now() + seconds
    const nonce = await nonceFor({ iat })
    expect(nonce).toMatch(/^[\w-]{22}$/)
    const response = await requestWith(await proof({ nonce, claims: { iat } }), replica)
    expect(response.status).toBe(200)
  })

  it('comes with a token for a proof that has none [RFC 9449 §8.2]', async () => {
    const nonce = (await requestWith(await proof())).headers.get('dpop-nonce')!
    expect((await requestWith(await proof({ nonce }))).status).toBe(200)
  })
})
