import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, type JWTPayload, SignJWT } from 'jose'
import { createTokenSource } from '../../packages/client/src/index.ts'
import { type Administration, administrationOf, NOBODY, refusalOf } from '../support/administration.ts'
import { newProofKey, proofOf } from '../support/dpop.ts'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const JWT_SPIFFE = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe'
const CLUSTER = 'https://kubernetes.default.svc.cluster.local'
const SUBJECT = 'system:serviceaccount:shop:checkout'
const TRUST_DOMAIN = 'spiffe://shop.example'
const SPIFFE_ID = `${TRUST_DOMAIN}/ns/shop/sa/checkout`
const HOUR = 3600

const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clusterKey = ec()
const now = () => Math.floor(Date.now() / 1000)
const jwkOf = (key: KeyObject, more: object = {}) => ({ ...key.export({ format: 'jwk' }), ...more })
const jwksOf = (...keys: object[]) => ({ source: { case: 'jwks', value: JSON.stringify({ keys }) } }) as const

let instance: OAuthInstance
let replica: Keyturn
let admin: Administration
let issuerId: string
let robot: Robot

beforeAll(async () => {
  instance = await startOAuthInstance()
  replica = await instance.startReplica()
  admin = await administrationOf(instance.keyturn)
  issuerId = await trust(CLUSTER, jwkOf(clusterKey.publicKey, { kid: 'cluster' }))
  robot = await instance.addRobot()
  await identify(robot, { subject: SUBJECT })
})

afterAll(() => instance?.stop())

async function trust(issuer: string, ...keys: object[]): Promise<string> {
  return (await admin.issuers.createTrustedIssuer({ issuer, keys: jwksOf(...keys) })).trustedIssuer!.issuerId
}

interface Identity {
  readonly issuerId?: string
  readonly subject: string
  readonly audience?: string
  readonly claims?: { pointer: string; value: string }[]
}

async function identify({ userId }: Pick<Robot, 'userId'>, identity: Identity): Promise<string> {
  const { identity: added } = await admin.identities.addFederatedIdentity({ userId, issuerId, ...identity })
  return added!.identityId
}

/** Claims in the form of a projected service account token of Kubernetes. */
function clusterClaims(): JWTPayload {
  return {
    aud: [instance.keyturn.baseUrl],
    exp: now() + HOUR,
    iat: now(),
    iss: CLUSTER,
    jti: randomUUID(),
    'kubernetes.io': {
      namespace: 'shop',
      node: { name: 'node-1', uid: randomUUID() },
      pod: { name: 'checkout-0', uid: randomUUID() },
      serviceaccount: { name: 'checkout', uid: randomUUID() },
    },
    nbf: now(),
    sub: SUBJECT,
  }
}

type Signing = { readonly key?: KeyObject; readonly alg?: string } & Record<string, unknown>

/** A JWT of the cluster, but for the claims and members of the header that are given. */
function jwtOf(claims: Record<string, unknown> = {}, signing: Signing = {}): Promise<string> {
  const { key = clusterKey.privateKey, alg = 'ES256', ...header } = signing
  const payload = { ...clusterClaims(), ...claims } as JWTPayload
  return new SignJWT(payload).setProtectedHeader({ alg, kid: 'cluster', ...header }).sign(key)
}

/** A JWT with any header, signed with the key of the cluster. */
function rawJwt(header: object, claims: object = clusterClaims()): string {
  const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(input), { key: clusterKey.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

function formWith(assertion: string, { clientId }: { clientId?: string } = robot, type = JWT_BEARER) {
  return {
    grant_type: 'client_credentials',
    client_assertion_type: type,
    client_assertion: assertion,
    ...(clientId === undefined ? {} : { client_id: clientId }),
  }
}

const present = (jwt: string, client?: { clientId?: string }, type?: string, at?: Keyturn) =>
  instance.postForm(formWith(jwt, client, type), {}, at)

/** The reason in the log of a refused request. */
async function reasonFor(form: Record<string, string>): Promise<unknown> {
  const requestId = randomUUID()
  expect(await seen(await instance.postForm(form, { 'x-request-id': requestId }))).toEqual(
    refusal(401, 'invalid_client'),
  )
  return eventually(() => {
    const lines = instance.keyturn.output().stderr.split('\n')
    const line = JSON.parse(lines.find((each) => each.includes(requestId)) ?? '{}') as Record<string, unknown>
    expect(line.failure).toBe('invalid_client')
    return line.detail
  })
}

describe('the JWT of a trusted issuer [RFC 7523 §2.2, §3]', () => {
  it('gets the service user with a fitting identity a token, on every replica, without a secret', async () => {
    for (const at of [instance.keyturn, replica]) {
      const response = await present(await jwtOf(), robot, JWT_BEARER, at)
      const { status, body } = await seen(response)
      expect({ status, body }).toMatchObject({ status: 200, body: { token_type: 'Bearer', scope: 'openid' } })
      expect(decodeJwt((body as { access_token: string }).access_token)).toMatchObject({
        iss: instance.keyturn.baseUrl,
        sub: robot.userId,
        client_id: robot.clientId,
        aud: [robot.project.projectId],
      })
    }
  })

  it('may be used until it expires, and asks for scopes like any other request', async () => {
    const jwt = await jwtOf()
    for (let use = 0; use < 3; use += 1) {
      const answer = await seen(await instance.postForm({ ...formWith(jwt), scope: 'openid email' }))
      expect(answer).toMatchObject({ status: 200, body: { scope: 'openid email' } })
    }
    expect(await seen(await instance.postForm({ ...formWith(jwt), scope: 'stock' }))).toEqual(
      refusal(400, 'invalid_scope'),
    )
  })

  it('names the user without client_id, where issuer and subject name one', async () => {
    const { status, body } = await seen(await present(await jwtOf(), {}))
    expect(status).toBe(200)
    expect(decodeJwt((body as { access_token: string }).access_token)).toMatchObject({ client_id: robot.clientId })
    expect((await present(await jwtOf(), {}, JWT_BEARER, replica)).status).toBe(200)
  })

  it('names no user without client_id, where issuer and subject name several', async () => {
    const [one, other] = [await instance.addRobot(), await instance.addRobot()]
    await identify(one, { subject: 'shared' })
    expect((await present(await jwtOf({ sub: 'shared' }), {})).status).toBe(200)
    const identityId = await identify(other, { subject: 'shared' })
    const jwt = await jwtOf({ sub: 'shared' })
    expect(await seen(await present(jwt, {}))).toEqual(refusal(401, 'invalid_client'))
    for (const client of [one, other]) expect((await present(jwt, client)).status).toBe(200)
    await admin.identities.removeFederatedIdentity({ userId: other.userId, identityId })
    expect((await present(jwt, {})).status).toBe(200)
    expect(await seen(await present(jwt, other))).toEqual(refusal(401, 'invalid_client'))
  })

  it('gets a token that is bound to a key [RFC 9449 §5]', async () => {
    const key = await newProofKey()
    const proof = await proofOf(key, { url: `${instance.keyturn.baseUrl}/oauth/v2/token` })
    const response = await instance.postForm(formWith(await jwtOf()), { dpop: proof })
    const { access_token, token_type } = (await response.json()) as { access_token: string; token_type: string }
    expect(token_type).toBe('DPoP')
    expect(decodeJwt(access_token)).toMatchObject({ sub: robot.userId, cnf: { jkt: key.jkt } })
  })

  it('authenticates the revocation of a token of its user, and its introspection [RFC 7009 §2.1, RFC 7662 §2.1]', async () => {
    const token = ((await (await present(await jwtOf())).json()) as { access_token: string }).access_token
    const ask = async (path: string, jwt: string) => {
      const body = new URLSearchParams({ ...formWith(jwt), token })
      const response = await instance.fetch(path, { method: 'POST', body })
      return { status: response.status, body: await response.text() }
    }
    const asked = await ask('/oauth/v2/introspect', await jwtOf())
    expect({ ...asked, body: JSON.parse(asked.body) }).toMatchObject({ status: 200, body: { active: true } })
    expect(await ask('/oauth/v2/revoke', await jwtOf({ sub: 'another' }))).toMatchObject({ status: 401 })
    expect(await ask('/oauth/v2/revoke', await jwtOf())).toEqual({ status: 200, body: '{}' })
    const after = await ask('/oauth/v2/introspect', await jwtOf())
    expect(JSON.parse(after.body)).toEqual({ active: false })
  })

  it('is good for the one audience that the identity names', async () => {
    const user = await instance.addRobot()
    await identify(user, { subject: 'elsewhere', audience: 'https://vault.example' })
    expect((await present(await jwtOf({ sub: 'elsewhere', aud: 'https://vault.example' }), user)).status).toBe(200)
    expect(await seen(await present(await jwtOf({ sub: 'elsewhere' }), user))).toEqual(refusal(401, 'invalid_client'))
  })
})

describe('a JWT-SVID [draft-ietf-oauth-spiffe-client-auth]', () => {
  const svidKey = ec()
  let workload: Robot
  const svid = (claims: object = {}, signing: Signing = {}) =>
    jwtOf({ iss: undefined, sub: SPIFFE_ID, ...claims }, { key: svidKey.privateKey, kid: 'svid', ...signing })

  beforeAll(async () => {
    const bundle = [
      jwkOf(svidKey.publicKey, { kid: 'svid', use: 'jwt-svid' }),
      { kty: 'EC', use: 'x509-svid', x5c: ['x'] },
    ]
    const id = await trust(TRUST_DOMAIN, ...bundle)
    workload = await instance.addRobot()
    await identify(workload, { issuerId: id, subject: SPIFFE_ID })
  })

  it('gets a token without iss, with client_id, without, and with the SPIFFE ID in its place', async () => {
    for (const client of [workload, {}, { clientId: SPIFFE_ID }]) {
      const { status, body } = await seen(await present(await svid(), client, JWT_SPIFFE))
      expect(status).toBe(200)
      expect(decodeJwt((body as { access_token: string }).access_token)).toMatchObject({ client_id: workload.clientId })
    }
    const other = { clientId: `${TRUST_DOMAIN}/ns/shop/sa/other` }
    expect(await seen(await present(await svid(), other, JWT_SPIFFE))).toEqual(refusal(401, 'invalid_client'))
  })

  it('of a trust domain that names itself in iss vouches for no other subjects', async () => {
    const id = (await admin.issuers.listTrustedIssuers({})).trustedIssuers.find(({ issuer }) => issuer === TRUST_DOMAIN)
    await identify(workload, { issuerId: id!.issuerId, subject: SUBJECT })
    expect((await present(await svid({ iss: TRUST_DOMAIN }), workload)).status).toBe(200)
    expect(await reasonFor(formWith(await svid({ iss: TRUST_DOMAIN, sub: SUBJECT }), workload))).toBe(
      'sub must be a SPIFFE ID of the trust domain',
    )
  })

  it('cannot come from an issuer that is trusted for other subjects', async () => {
    const jwt = await jwtOf({ sub: SPIFFE_ID })
    for (const type of [JWT_SPIFFE, JWT_BEARER])
      expect(await seen(await present(jwt, workload, type))).toEqual(refusal(401, 'invalid_client'))
  })
})

describe('an attack with the JWT of a trusted issuer', () => {
  const attacker = ec()
  const publicPem = clusterKey.publicKey.export({ format: 'pem', type: 'spki' }) as string
  const hmac = (secret: string | Buffer, header: object): string => {
    const input = [{ alg: 'HS256', ...header }, clusterClaims()]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }
  const unsigned = (alg: string) => `${rawJwt({ alg, kid: 'cluster' }).split('.').slice(0, 2).join('.')}.`

  it.each<[string, string, () => string | Promise<string>]>([
    ['alg none', 'three parts', () => unsigned('none')],
    ['alg none and a signature', 'alg is not allowed', () => rawJwt({ alg: 'none', kid: 'cluster' })],
    ['an alg of Object.prototype', 'alg is not allowed', () => rawJwt({ alg: 'constructor', kid: 'cluster' })],
    ['HMAC with the public key as PEM', 'alg is not allowed', () => hmac(publicPem, { kid: 'cluster' })],
    ['an alg of another kind of key', 'no key with this kid', () => rawJwt({ alg: 'RS256', kid: 'cluster' })],
    ['an unknown kid', 'no key with this kid', () => jwtOf({}, { kid: 'other' })],
    ['a key of its own', 'the signature', () => jwtOf({}, { key: attacker.privateKey })],
    [
      'a key of its own as jwk',
      'the signature',
      () => jwtOf({}, { key: attacker.privateKey, jwk: jwkOf(attacker.publicKey) }),
    ],
    ['a jku', 'the signature', () => jwtOf({}, { key: attacker.privateKey, jku: 'https://evil.example/jwks' })],
    ['crit', 'crit and b64', () => rawJwt({ alg: 'ES256', kid: 'cluster', crit: ['exp'], exp: 1 })],
    ['the type of a logout token', 'typ', () => jwtOf({}, { typ: 'logout+jwt' })],
    ['claims that were changed', 'the signature', async () => changed(await jwtOf())],
    ['padding', 'three parts', async () => `${await jwtOf()}=`],
    ['no iss that is trusted', 'iss is not', () => jwtOf({ iss: 'https://evil.example' })],
    ['the issuer with a slash', 'iss is not', () => jwtOf({ iss: `${CLUSTER}/` })],
    ['the audience of another service', 'the user has no', () => jwtOf({ aud: 'https://vault.example' })],
    ['two audiences', 'aud must', () => jwtOf({ aud: [instance.keyturn.baseUrl, 'https://vault.example'] })],
    ['no audience', 'aud must', () => jwtOf({ aud: undefined })],
    ['an exp that has passed', 'exp must lie', () => jwtOf({ exp: now() - 1, iat: now() - 60 })],
    ['no exp', 'exp must be', () => jwtOf({ exp: undefined })],
    ['a lifetime over the limit', 'the lifetime', () => jwtOf({ exp: now() + HOUR + 60 })],
    ['an iat in the future', 'iat must not', () => jwtOf({ iat: now() + 120 })],
    ['an nbf in the future', 'nbf must not', () => jwtOf({ nbf: now() + 120 })],
    ['another subject', 'the user has no', () => jwtOf({ sub: 'system:serviceaccount:shop:other' })],
    ['no subject', 'sub must', () => jwtOf({ sub: undefined })],
    ['a binding to a key', 'cnf', () => jwtOf({ cnf: { jkt: 'x' } })],
    ['17 000 characters', 'at most', () => jwtOf({ x: 'x'.repeat(13_000) })],
  ])('is refused: %s', async (_, reason, make) => {
    const jwt = await make()
    for (const client of [robot, {}]) expect(await reasonFor(formWith(jwt, client))).toContain(reason)
  })

  it('says the same to everyone: nothing but that the authentication failed', async () => {
    const disabled = await instance.addRobot({ enabled: false })
    await identify(disabled, { subject: 'disabled' })
    const bodies = [
      await present(await jwtOf({}, { key: attacker.privateKey })),
      await present(await jwtOf({ aud: 'https://vault.example' })),
      await present(await jwtOf(), { clientId: `${NOBODY}@billing` }),
      await present(await jwtOf(), await instance.addRobot()),
      await present(await jwtOf({ sub: 'disabled' }), disabled),
      await present(await jwtOf({ sub: 'disabled' }), {}),
      await present(await jwtOf({ sub: 'stranger' }), {}),
      await present(await jwtOf({ iss: 'https://evil.example' }), {}),
    ].map(seen)
    for (const answer of await Promise.all(bodies)) {
      expect(answer).toMatchObject({
        status: 401,
        body: { error: 'invalid_client', error_description: 'client authentication failed' },
      })
    }
  })
})

describe('trusted issuers and federated identities', () => {
  it('are refused when they are wrong', async () => {
    const jwks = (value: string) => ({ source: { case: 'jwks', value } }) as const
    const good = jwks(JSON.stringify({ keys: [jwkOf(ec().publicKey)] }))
    const create = (issuer: string, keys = good) => admin.issuers.createTrustedIssuer({ issuer, keys })
    expect(await refusalOf(create(CLUSTER))).toMatchObject({ code: 'AlreadyExists', reason: 'TRUSTED_ISSUER_TAKEN' })
    for (const issuer of ['', 'http://cluster.example', 'spiffe://a/b'])
      expect(await refusalOf(create(issuer))).toMatchObject({ reason: 'INVALID_ARGUMENT' })
    // Its own tokens could renew themselves, and outlive their revocation.
    const own = instance.keyturn.baseUrl
    for (const issuer of [own, `${own}/`, own.toUpperCase()])
      expect(await refusalOf(create(issuer))).toMatchObject({ code: 'InvalidArgument' })
    expect(await refusalOf(create(own))).toMatchObject({ reason: 'TRUSTED_ISSUER_INVALID' })
    const secret = { kty: 'oct', k: 'c2VjcmV0' }
    const privateJwk = jwkOf(clusterKey.privateKey)
    for (const text of ['{}', JSON.stringify({ keys: [secret] }), JSON.stringify({ keys: [privateJwk] })])
      expect(await refusalOf(create('https://x.example', jwks(text)))).toMatchObject({
        code: 'InvalidArgument',
        reason: 'TRUSTED_ISSUER_INVALID',
        message: expect.not.stringContaining(String(privateJwk.d)),
      })
    const { userId } = robot
    for (const claims of [[{ pointer: 'x', value: 'x' }], Array(1001).fill({})])
      expect(
        await refusalOf(admin.identities.addFederatedIdentity({ userId, issuerId, subject: 'x', claims })),
      ).toMatchObject({ reason: 'INVALID_ARGUMENT' })
    expect(
      await refusalOf(admin.identities.addFederatedIdentity({ userId, issuerId: NOBODY, subject: 'x' })),
    ).toMatchObject({ code: 'NotFound', reason: 'TRUSTED_ISSUER_NOT_FOUND' })
    expect(await refusalOf(admin.issuers.getTrustedIssuer({ issuerId: NOBODY }))).toMatchObject({ code: 'NotFound' })
  })

  it('change for all replicas: keys, algorithms, lifetime, and the end of an issuer', async () => {
    const [first, second] = [ec(), ec()]
    const id = await trust('https://rotating.example', jwkOf(first.publicKey))
    const user = await instance.addRobot()
    await identify(user, { issuerId: id, subject: 'robot' })
    const jwt = (key: KeyObject, lifetime = 600) =>
      jwtOf({ iss: 'https://rotating.example', sub: 'robot', exp: now() + lifetime }, { key, kid: undefined })
    const statuses = async (key: KeyObject, lifetime?: number) => {
      const presented = await jwt(key, lifetime)
      const answers = [instance.keyturn, replica].map((at) => present(presented, user, JWT_BEARER, at))
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    const update = (change: object, ...paths: string[]) =>
      admin.issuers.updateTrustedIssuer({ issuerId: id, ...change, updateMask: { paths } })
    const become = (expected: number, key: KeyObject, lifetime?: number) =>
      eventually(async () => expect(await statuses(key, lifetime)).toEqual([expected, expected]))

    expect(await statuses(first.privateKey)).toEqual([200, 200])
    expect(await statuses(second.privateKey)).toEqual([401, 401])
    await update({ keys: jwksOf(jwkOf(second.publicKey)) }, 'keys')
    // At the first try, on both: what a replica does not know it asks for.
    expect(await statuses(second.privateKey)).toEqual([200, 200])
    await become(401, first.privateKey)
    await update({ maxLifetimeSeconds: 60 }, 'max_lifetime_seconds')
    await become(401, second.privateKey)
    expect(await statuses(second.privateKey, 60)).toEqual([200, 200])
    await update({ algorithms: ['RS256'] }, 'algorithms')
    await become(401, second.privateKey, 60)
    await update({}, 'algorithms')
    expect(await statuses(second.privateKey, 60)).toEqual([200, 200])
    await admin.issuers.deleteTrustedIssuer({ issuerId: id })
    await become(401, second.privateKey, 60)
    expect((await admin.identities.listFederatedIdentities({ userId: user.userId })).identities).toEqual([])
  })
})

describe('@keyturn/client with a token file', () => {
  it('gets tokens with the JWT in the file, without a client id, and reads it again for the next one', async () => {
    const other = await instance.addRobot()
    await identify(other, { subject: 'other' })
    const tokenFile = join(instance.keyturn.dataDir, 'token')
    const tokens = createTokenSource({ issuer: instance.keyturn.baseUrl, tokenFile })
    await writeFile(tokenFile, `${await jwtOf()}\n`)
    const first = await tokens.token()
    await writeFile(tokenFile, await jwtOf({ sub: 'other' }))
    expect(await tokens.token()).toBe(first)
    tokens.invalidate(first)
    expect([decodeJwt(first).sub, decodeJwt(await tokens.token()).sub]).toEqual([robot.userId, other.userId])
  })

  it('says that the file cannot be used when it is missing or has no JWT', async () => {
    const tokenFile = join(instance.keyturn.dataDir, 'no-token')
    const unusable = { code: 'unusable', message: expect.stringContaining('the token file cannot be used') }
    const source = () => createTokenSource({ issuer: instance.keyturn.baseUrl, clientId: robot.clientId, tokenFile })
    await expect(source().token()).rejects.toMatchObject(unusable)
    await writeFile(tokenFile, 'nonsense')
    await expect(source().token()).rejects.toMatchObject(unusable)
  })
})

/** The same JWT with other claims and the same signature. */
function changed(jwt: string): string {
  const [header, , signature] = jwt.split('.')
  const claims = Buffer.from(JSON.stringify({ ...decodeJwt(jwt), admin: true })).toString('base64url')
  return [header, claims, signature].join('.')
}
