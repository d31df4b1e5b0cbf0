/**
 * Token introspection (RFC 7662). openid-client asks, in the name of services of several projects.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose'
import * as client from 'openid-client'
import { type Administration, administrationOf } from '../support/administration.ts'
import { newProofKey, proofOf } from '../support/dpop.ts'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { formOf, type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'
import type { SeededProject } from '../support/seed.ts'

const BILLING = 'https://billing.example'
const SHIPPING = 'https://shipping.example'
const ROLES = 'urn:service:iam:org:projects:roles'
const SERVICE_AUDIENCE = 'urn:service:iam:org:project:id:service:aud'
const INACTIVE = { active: false }

let instance: OAuthInstance
let replica: Keyturn
let admin: Administration
let billing: SeededProject
let shipping: SeededProject
/** The user whose tokens are looked at: of the project billing, with a role in shipping. */
let robot: Robot
/** A service of each project, which asks. */
let billingService: Robot
let shippingService: Robot

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ACTIVATION_GUARD: 'off' })
  replica = await instance.startReplica()
  admin = await administrationOf(instance.keyturn)
  billing = await instance.seed.project({ name: 'billing' })
  shipping = await instance.seed.project({ name: 'shipping', roles: ['viewer'] })
  await admin.projects.addProjectAudience({ projectId: billing.projectId, audience: BILLING })
  await admin.projects.addProjectAudience({ projectId: shipping.projectId, audience: SHIPPING })
  robot = await newRobot()
  billingService = await instance.addRobot({ project: billing })
  shippingService = await instance.addRobot({ project: shipping })
})

afterAll(() => instance?.stop())

const newRobot = () => instance.addRobot({ project: billing, projectRoles: { [shipping.projectId]: ['viewer'] } })

async function tokenFor(user: Robot, fields: Record<string, string> = {}): Promise<string> {
  const response = await instance.postForm({ ...formOf(user), ...fields })
  return ((await response.json()) as { access_token: string }).access_token
}

/** Asks a replica with openid-client. */
async function ask(
  caller: Robot,
  token: string,
  { at = instance.keyturn, auth }: { at?: Keyturn; auth?: client.ClientAuth } = {},
): Promise<client.IntrospectionResponse> {
  const { issuer, ...metadata } = (await (
    await fetch(`${at.listenUrl}/.well-known/oauth-authorization-server`)
  ).json()) as { issuer: string; introspection_endpoint: string }
  const introspection_endpoint = metadata.introspection_endpoint.replace(issuer, at.listenUrl)
  const config = new client.Configuration(
    { ...metadata, issuer, introspection_endpoint },
    caller.clientId,
    caller.clientSecret,
    auth,
  )
  client.allowInsecureRequests(config)
  return await client.tokenIntrospection(config, token)
}

/** Sends a form to the endpoint. */
function post(form: Record<string, string> | [string, string][], headers: Record<string, string> = {}) {
  return instance.fetch('/oauth/v2/introspect', { method: 'POST', body: new URLSearchParams(form), headers })
}

const credentialsOf = ({ clientId, clientSecret }: Robot) => ({ client_id: clientId, client_secret: clientSecret })

describe('the introspection endpoint [RFC 7662 §2]', () => {
  it('says all that an active token says, with its type, to a service of the project that the token is for', async () => {
    const token = await tokenFor(robot, { scope: `openid ${ROLES}` })
    expect(await ask(billingService, token)).toEqual({ ...decodeJwt(token), active: true, token_type: 'Bearer' })
  })

  it('says to which key a token is bound [RFC 9449 §6.2]', async () => {
    const key = await newProofKey()
    const proof = await proofOf(key, { url: `${instance.keyturn.baseUrl}/oauth/v2/token` })
    const response = await instance.postForm(formOf(robot), { dpop: proof })
    const { access_token } = (await response.json()) as { access_token: string }
    expect(await ask(billingService, access_token)).toMatchObject({
      active: true,
      token_type: 'DPoP',
      cnf: { jkt: key.jkt },
    })
  })

  it('says it to the services of each project whose id or audience the token has, and to no others', async () => {
    const scope = `urn:service:iam:org:project:id:${shipping.projectId}:aud`
    const answers = async (fields: Record<string, string>) => {
      const token = await tokenFor(robot, fields)
      const callers = [billingService, shippingService]
      return Promise.all(callers.map(async (caller) => (await ask(caller, token)).active))
    }
    expect(await answers({})).toEqual([true, false])
    expect(await answers({ scope })).toEqual([false, true])
    expect(await answers({ resource: BILLING })).toEqual([true, false])
    expect(await answers({ resource: SHIPPING })).toEqual([false, true])
    expect(await answers({ resource: SHIPPING, scope: `${scope} ${SERVICE_AUDIENCE}` })).toEqual([false, true])
    expect(await answers({ scope: SERVICE_AUDIENCE })).toEqual([false, false])
  })

  it('says nothing about a token to its own user in another project', async () => {
    const token = await tokenFor(robot, { resource: SHIPPING })
    expect(await ask(robot, token)).toEqual(INACTIVE)
  })

  it('says it about any token to a user with the permission iam.token.read, for as long as it has it', async () => {
    const viewer = await instance.addRobot({ instanceRoles: ['IAM_OWNER_VIEWER'] })
    const token = await tokenFor(robot, { scope: SERVICE_AUDIENCE })
    expect(await ask(viewer, token)).toMatchObject({ active: true, sub: robot.userId })
    await admin.users.setInstanceRoles({ userId: viewer.userId, instanceRoles: [] })
    expect(await ask(viewer, token)).toEqual(INACTIVE)
  })
})

describe('a token that is not active [RFC 7662 §2.2]', () => {
  it('is one that this service did not issue, or that was changed', async () => {
    const token = await tokenFor(robot)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const { privateKey } = await generateKeyPair('RS256')
    const forged = async (protectedHeader: { alg: string; kid?: string; typ: string }) =>
      new SignJWT(decodeJwt(token)).setProtectedHeader(protectedHeader).sign(privateKey)
    const { kid } = decodeProtectedHeader(token)
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const other of [
      await forged({ alg: 'RS256', kid: kid!, typ: 'at+jwt' }),
      await forged({ alg: 'RS256', kid: 'x'.repeat(43), typ: 'at+jwt' }),
      await forged({ alg: 'RS256', typ: 'at+jwt' }),
      `${encode({ alg: 'none', typ: 'at+jwt', kid })}.${payload}.`,
      `${header}.${encode({ ...decodeJwt(token), sub: billingService.userId })}.${signature}`,
      `${header}.${payload}`,
      `${token}=`,
      'unknown',
      'ktn_pat_unknown',
      billingService.clientSecret,
      'x'.repeat(20_000),
    ]) {
      expect(await (await post({ ...credentialsOf(billingService), token: other })).json()).toEqual(INACTIVE)
    }
  })

  it('is one of a user that was disabled, until it is enabled, on every replica', async () => {
    const other = await newRobot()
    const token = await tokenFor(other)
    expect(await ask(billingService, token, { at: replica })).toMatchObject({ active: true })
    await admin.users.disableServiceUser({ userId: other.userId })
    expect(await ask(billingService, token)).toEqual(INACTIVE)
    await eventually(async () => expect(await ask(billingService, token, { at: replica })).toEqual(INACTIVE))
    await admin.users.enableServiceUser({ userId: other.userId })
    // Nothing is denied from memory, so the other replica need not know it yet.
    expect(await ask(billingService, token, { at: replica })).toMatchObject({ active: true })
    await admin.users.deleteServiceUser({ userId: other.userId })
    expect(await ask(billingService, token)).toEqual(INACTIVE)
  })

  it('is one of a key that was revoked, on every replica', async () => {
    const token = await tokenFor(robot)
    await admin.keys.revokeWebKey({ keyId: decodeProtectedHeader(token).kid! })
    admin = await administrationOf(instance.keyturn)
    expect(await ask(billingService, token)).toEqual(INACTIVE)
    await eventually(async () => expect(await ask(billingService, token, { at: replica })).toEqual(INACTIVE))
    // A key that the other replica may not have heard of yet is not denied.
    expect(await ask(billingService, await tokenFor(robot), { at: replica })).toMatchObject({ active: true })
  })
})

describe('a request for introspection that is refused [RFC 7662 §2.3]', () => {
  it('has no good credentials: like at the token endpoint, with a challenge and an event of the audit trail', async () => {
    const token = await tokenFor(robot)
    const caller = await instance.addRobot({ project: billing })
    const secret = { client_id: caller.clientId, client_secret: 'wrong' }
    const unknown = { client_id: `${randomUUID()}@billing`, client_secret: 'wrong' }
    const [wrong, nobody] = await Promise.all([post({ ...secret, token }), post({ ...unknown, token: 'unknown' })])
    for (const response of [wrong, nobody]) {
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="http.+", error="invalid_client"/)
    }
    const [answer, other] = [await seen(wrong), await seen(nobody)]
    expect(answer).toEqual(refusal(401, 'invalid_client'))
    expect(other).toEqual(answer)
    await eventually(async () => {
      const { events } = await admin.audit.listAuditEvents({ resource: `users/${caller.userId}` })
      expect(events).toMatchObject([{ actor: 'anonymous', action: 'oauth/introspect', outcome: 'INVALID_CLIENT' }])
    })
  })

  it('has no token, two tokens, or no credentials', async () => {
    const credentials = Object.entries(credentialsOf(billingService))
    const twice: [string, string][] = [...credentials, ['token', 'a'], ['token', 'b']]
    for (const form of [credentials, twice]) {
      expect(await seen(await post(form))).toEqual(refusal(400, 'invalid_request'))
    }
    expect(await seen(await post([['token', 'a']]))).toEqual(refusal(401, 'invalid_client'))
  })
})
