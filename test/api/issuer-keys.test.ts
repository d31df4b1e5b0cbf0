/**
 * Keys of trusted issuers that are fetched: from discovery, from a JWKS and from a SPIFFE bundle, by real servers over https.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { type Administration, administrationOf, administrationWith, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import {
  DISCOVERY_PATH,
  type HttpsIssuer,
  json,
  jwtBy,
  newIssuerKey,
  startHttpsIssuer,
} from '../support/https-issuer.ts'
import { type Keyturn, requestToken } from '../support/keyturn.ts'
import { type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'
import { createAuthority } from '../support/server-certificates.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const SUBJECT = 'robot'

const authority = createAuthority()
const caCertificates = authority.cert

let instance: OAuthInstance
let replica: Keyturn
let admin: Administration
let adminOfReplica: Administration
const servers: HttpsIssuer[] = []

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ISSUER_NETWORKS: '127.0.0.0/8, ::1' })
  replica = await instance.startReplica({ KEYTURN_ISSUER_NETWORKS: '127.0.0.1, ::1' })
  admin = await administrationOf(instance.keyturn)
  adminOfReplica = administrationWith(replica, await requestToken(await instance.keyturn.admin()))
})

afterAll(async () => {
  await instance?.stop()
  for (const server of servers) await server.stop()
})

async function startIssuer(...args: Parameters<typeof startHttpsIssuer>): Promise<HttpsIssuer> {
  const server = await startHttpsIssuer(...args)
  servers.push(server)
  return server
}

type Keys = NonNullable<Parameters<Administration['issuers']['createTrustedIssuer']>[0]['keys']>

const discovery = { source: { case: 'discovery', value: {} }, caCertificates } as const
const jwksUrl = (value: string) => ({ source: { case: 'jwksUrl', value }, caCertificates }) as const

/** Trusts an issuer, and gives a new user an identity of it. */
async function trust(issuer: string, keys: Keys): Promise<{ issuerId: string; robot: Robot }> {
  const { trustedIssuer } = await admin.issuers.createTrustedIssuer({ issuer, keys })
  const { issuerId } = trustedIssuer!
  const robot = await instance.addRobot()
  await admin.identities.addFederatedIdentity({ userId: robot.userId, issuerId, subject: SUBJECT })
  return { issuerId, robot }
}

async function present(jwt: string, { clientId }: Robot, at: Keyturn = instance.keyturn) {
  const form = { grant_type: 'client_credentials', client_assertion_type: JWT_BEARER, client_assertion: jwt }
  return instance.postForm({ ...form, client_id: clientId }, {}, at)
}

async function get(issuerId: string): Promise<TrustedIssuer> {
  return (await admin.issuers.getTrustedIssuer({ issuerId })).trustedIssuer!
}

/** Has both replicas fetch the keys of an issuer, and returns it as the first knows it. */
async function refresh(issuerId: string): Promise<TrustedIssuer> {
  await adminOfReplica.issuers.refreshTrustedIssuerKeys({ issuerId })
  return (await admin.issuers.refreshTrustedIssuerKeys({ issuerId })).trustedIssuer!
}

function keyIdsOf({ fetchedKeys }: TrustedIssuer): unknown[] {
  return (JSON.parse(fetchedKeys!.jwks) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
}

/** Waits until a JWT gets a token on both replicas, or is refused by both. */
async function become(status: number, jwt: () => Promise<string>, robot: Robot): Promise<void> {
  await eventually(async () => {
    const presented = await jwt()
    const answers = [instance.keyturn, replica].map((at) => present(presented, robot, at))
    expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([status, status])
  })
}

const claims = (issuer: string) => ({ iss: issuer, sub: SUBJECT, aud: instance.keyturn.baseUrl })

describe('KEYTURN_ISSUER_NETWORKS', () => {
  it('lists nothing to which webhooks are sent', async () => {
    const { webhook } = await admin.webhooks.createWebhook({
      name: 'siem',
      url: 'https://127.0.0.1/',
      eventTypes: ['keyturn.none'],
    })
    const { failure } = await admin.webhooks.testWebhook({ webhookId: webhook!.webhookId })
    expect(failure).toContain('is at the address 127.0.0.1, which is not allowed')
    await admin.webhooks.deleteWebhook({ webhookId: webhook!.webhookId })
  })
})

describe('the keys of an issuer', () => {
  it('are fetched by discovery, by each replica, at the first JWT [OpenID Connect Discovery 1.0 §4]', async () => {
    const [issuer, key] = [await startIssuer(authority), newIssuerKey('first')]
    issuer.publish(key)
    const { issuerId, robot } = await trust(issuer.url, discovery)
    const jwts = await Promise.all(Array.from({ length: 10 }, () => jwtBy(key, claims(issuer.url))))
    const answers = await Promise.all(jwts.map((jwt) => present(jwt, robot)))
    expect(answers.map(({ status }) => status)).toEqual(jwts.map(() => 200))
    expect(issuer.requests).toEqual([DISCOVERY_PATH, '/jwks'])
    await become(200, () => jwtBy(key, claims(issuer.url)), robot)
    expect(issuer.requests).toEqual([DISCOVERY_PATH, '/jwks', DISCOVERY_PATH, '/jwks'])
    const state = await get(issuerId)
    expect(state).toMatchObject({
      keys: { source: { case: 'discovery' }, caCertificates, maxStalenessSeconds: 86_400 },
      fetchedKeys: { failure: '' },
    })
    expect(keyIdsOf(state)).toEqual(['first'])
    const response = await present(await jwtBy(key, claims(issuer.url)), robot)
    expect(decodeJwt(((await response.json()) as { access_token: string }).access_token).sub).toBe(robot.userId)
  })

  it('are fetched from a JWKS, of which keys that cannot be used are left out [RFC 7517 §5]', async () => {
    const [issuer, key] = [await startIssuer(authority), newIssuerKey('good', { use: 'sig' })]
    const encryption = newIssuerKey('encryption', { use: 'enc' })
    const leaked = newIssuerKey('leaked')
    const keys = [
      { kty: 'oct', k: 'c2VjcmV0', kid: 'symmetric' },
      { ...leaked.jwk, d: leaked.privateKey.export({ format: 'jwk' }).d },
      { kty: 'EC', crv: 'secp256k1', x: 'x', y: 'y', kid: 'curve' },
      { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'short' },
      { kid: 'nothing' },
      encryption.jwk,
      key.jwk,
    ]
    issuer.answer('/keys?all=1', json({ keys }))
    const name = 'https://ci.example/'
    const { issuerId, robot } = await trust(name, jwksUrl(`${issuer.url}/keys?all=1`))
    await become(200, () => jwtBy(key, claims(name)), robot)
    expect(keyIdsOf(await get(issuerId))).toEqual(['good'])
    for (const other of [leaked, encryption])
      expect((await present(await jwtBy(other, claims(name)), robot)).status).toBe(401)
    expect((await present(await jwtBy(key, claims('https://ci.example')), robot)).status).toBe(401)
  })

  it('change when the issuer rotates, which is no change of the instance', async () => {
    const [issuer, first, second] = [await startIssuer(authority), newIssuerKey('first'), newIssuerKey('second')]
    issuer.publish(first)
    const { issuerId, robot } = await trust(issuer.url, discovery)
    await become(200, () => jwtBy(first, claims(issuer.url)), robot)
    issuer.publish(second)
    expect(keyIdsOf(await refresh(issuerId))).toEqual(['second'])
    await become(200, () => jwtBy(second, claims(issuer.url)), robot)
    await become(401, () => jwtBy(first, claims(issuer.url)), robot)
    const { events } = await admin.audit.listAuditEvents({ resource: `trusted_issuers/${issuerId}` })
    expect(events.map(({ action }) => action)).toEqual(['iam.federation.v2.TrustedIssuerService/CreateTrustedIssuer'])
  })

  it('are those of the new source at once when an administrator changes it, and never again those of the old one', async () => {
    const [before, after] = [await startIssuer(authority), await startIssuer(authority)]
    const [old, next] = [newIssuerKey('same'), newIssuerKey('same')]
    before.publish(old)
    after.publish(next)
    const name = 'https://moving.example'
    const { issuerId, robot } = await trust(name, jwksUrl(`${before.url}/jwks`))
    await become(200, () => jwtBy(old, claims(name)), robot)

    // A fetch from the old address is under way while the address changes.
    const { promise: asked, resolve: arrive } = Promise.withResolvers<() => void>()
    before.answer('/jwks', (response) => arrive(() => json({ keys: [old.jwk] })(response, response.req)))
    const refreshing = admin.issuers.refreshTrustedIssuerKeys({ issuerId })
    const answerLate = await asked
    const update = (keys: Keys) =>
      admin.issuers.updateTrustedIssuer({ issuerId, keys, updateMask: { paths: ['keys'] } })
    const { trustedIssuer } = await update(jwksUrl(`${after.url}/jwks`))
    expect(trustedIssuer!.fetchedKeys).toMatchObject({ jwks: '', failure: '' })
    expect((await present(await jwtBy(old, claims(name)), robot)).status).toBe(401)
    answerLate()
    await refreshing
    expect((await present(await jwtBy(next, claims(name)), robot)).status).toBe(200)
    await become(401, () => jwtBy(old, claims(name)), robot)
    await become(200, () => jwtBy(next, claims(name)), robot)

    await update({ source: { case: 'jwks', value: JSON.stringify({ keys: [old.jwk] }) } })
    expect((await get(issuerId)).fetchedKeys).toBeUndefined()
    await become(200, () => jwtBy(old, claims(name)), robot)
    await become(401, () => jwtBy(next, claims(name)), robot)
    expect(await refusalOf(admin.issuers.refreshTrustedIssuerKeys({ issuerId }))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'TRUSTED_ISSUER_KEYS_GIVEN',
    })
  })

  it('are refused where they cannot be fetched in that way', async () => {
    const create = (issuer: string, keys: Keys) => admin.issuers.createTrustedIssuer({ issuer, keys })
    for (const [issuer, keys] of [
      ['spiffe://a.example', discovery],
      ['https://a.example', { source: { case: 'spiffeBundleUrl', value: 'https://a.example' } }],
      ['https://a.example', { ...discovery, caCertificates: 'x' }],
      ['https://a.example', { ...discovery, caCertificates: `${caCertificates}-----BEGIN PRIVATE KEY-----` }],
    ] satisfies [string, Keys][])
      expect(await refusalOf(create(issuer, keys))).toMatchObject({ reason: 'TRUSTED_ISSUER_INVALID' })
    for (const url of ['http://a.example/jwks', 'file:///etc/passwd'])
      expect(await refusalOf(create('https://a.example', jwksUrl(url)))).toMatchObject({ reason: 'INVALID_ARGUMENT' })
    const given = { source: { case: 'jwks', value: '{"keys":[]}' } } as const
    for (const keys of [
      { ...discovery, maxStalenessSeconds: 599 },
      { ...given, caCertificates },
      { ...given, maxStalenessSeconds: 600 },
    ])
      expect(await refusalOf(create('https://a.example', keys))).toMatchObject({ reason: 'INVALID_ARGUMENT' })
  })
})

describe('an issuer whose keys cannot be fetched', () => {
  it('says so of an address that is not allowed, and its last good keys are used', async () => {
    const [issuer, key] = [await startIssuer(authority), newIssuerKey('first')]
    issuer.publish(key)
    const { issuerId, robot } = await trust(issuer.url, discovery)
    await become(200, () => jwtBy(key, claims(issuer.url)), robot)
    issuer.answer(DISCOVERY_PATH, json({ issuer: issuer.url, jwks_uri: 'https://169.254.169.254/latest' }))
    const state = await refresh(issuerId)
    expect(state.fetchedKeys!.failure).toContain(
      'is at the address 169.254.169.254, which is not allowed: if it is meant, list it in KEYTURN_ISSUER_NETWORKS and restart the server',
    )
    expect(keyIdsOf(state)).toEqual(['first'])
    expect((await present(await jwtBy(key, claims(issuer.url)), robot)).status).toBe(200)
  })

  it('and never were lets its JWTs be tried again later, and says why where an administrator looks', async () => {
    const [issuer, key] = [await startIssuer(authority), newIssuerKey('first')]
    const { issuerId, robot } = await trust(issuer.url, discovery)
    const response = await present(await jwtBy(key, claims(issuer.url)), robot)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' })
    const reason = `${issuer.url}${DISCOVERY_PATH} answers with status 404`
    expect((await get(issuerId)).fetchedKeys).toMatchObject({ jwks: '', failure: reason })
    expect(instance.keyturn.output().stderr).toContain('the keys of a trusted issuer could not be fetched')
    issuer.publish(key)
    expect(keyIdsOf(await refresh(issuerId))).toEqual(['first'])
    await become(200, () => jwtBy(key, claims(issuer.url)), robot)
  })
})
