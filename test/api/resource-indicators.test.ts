/**
 * Audiences of projects, which clients ask for with `resource` (RFC 8707). openid-client is the client, `@keyturn/verify` the service.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { createTokenSource } from '../../packages/client/src/index.ts'
import { createVerifier } from '../../packages/verify/src/index.ts'
import { type Administration, administrationOf, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { formOf, type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'
import type { SeededProject } from '../support/seed.ts'

const BILLING = 'https://billing.example/api'
const BILLING_URN = 'urn:example:billing'
const SHIPPING = 'https://shipping.example'
const PAYROLL = 'https://payroll.example'
const ROLES = 'urn:service:iam:org:projects:roles'

let instance: OAuthInstance
let admin: Administration
/** The robot's own project, one it has a role in, and one it has nothing to do with. */
let billing: SeededProject
let shipping: SeededProject
let payroll: SeededProject
let robot: Robot

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
  billing = await instance.seed.project({ name: 'billing' })
  shipping = await instance.seed.project({ name: 'shipping', roles: ['viewer'] })
  payroll = await instance.seed.project({ name: 'payroll' })
  robot = await instance.addRobot({ project: billing, projectRoles: { [shipping.projectId]: ['viewer'] } })
  for (const [{ projectId }, audience] of [
    [billing, BILLING],
    [billing, BILLING_URN],
    [shipping, SHIPPING],
    [payroll, PAYROLL],
  ] as const) {
    await admin.projects.addProjectAudience({ projectId, audience })
  }
})

afterAll(() => instance?.stop())

/** A token request with these resources. */
function request(resources: readonly string[], more: Record<string, string> = {}): Promise<Response> {
  const form = Object.entries({ ...formOf(robot), ...more })
  return instance.postForm([...form, ...resources.map((resource): [string, string] => ['resource', resource])])
}

async function claimsFor(resources: readonly string[]) {
  const response = await seen(await request(resources))
  expect(response).toMatchObject({ status: 200 })
  return decodeJwt((response.body as { access_token: string }).access_token)
}

async function tokenOfOpenidClient(resource: string): Promise<string> {
  const { baseUrl } = instance.keyturn
  const config = await client.discovery(new URL(baseUrl), robot.clientId, robot.clientSecret, undefined, {
    execute: [client.allowInsecureRequests],
  })
  return (await client.clientCredentialsGrant(config, { resource, scope: ROLES })).access_token
}

describe('a token that is requested for a resource [RFC 8707 §2]', () => {
  it('has it as its only audience, and is good at the service of that name, with openid-client and @keyturn/verify', async () => {
    const token = await tokenOfOpenidClient(SHIPPING)
    expect(decodeJwt(token).aud).toEqual([SHIPPING])
    const options = { issuer: instance.keyturn.baseUrl, projectId: shipping.projectId }
    expect(await createVerifier({ ...options, audience: SHIPPING }).verify(token)).toMatchObject({
      subject: robot.userId,
      roles: ['viewer'],
    })
    for (const audience of [shipping.projectId, billing.projectId, BILLING, instance.keyturn.baseUrl]) {
      await expect(createVerifier({ ...options, audience }).verify(token)).rejects.toMatchObject({ status: 401 })
    }
  })

  it('has it as the project has it, however its scheme, host and default port are spelt [RFC 3986 §6.2]', async () => {
    expect((await claimsFor(['HTTPS://Billing.Example:443/api'])).aud).toEqual([BILLING])
    const { projectId } = payroll
    const other = { projectId, audience: 'HTTPS://BILLING.example/api' }
    expect(await refusalOf(admin.projects.addProjectAudience(other))).toMatchObject({
      reason: 'PROJECT_AUDIENCE_TAKEN',
    })
    await admin.projects.addProjectAudience({ projectId, audience: 'HTTPS://Wages.Example/Api' })
    const { audiences } = await admin.projects.listProjectAudiences({ projectId })
    expect(audiences).toEqual([PAYROLL, 'https://wages.example/Api'])
    await admin.projects.removeProjectAudience({ projectId, audience: 'https://WAGES.example/Api' })
  })

  it('can be requested with @keyturn/client, for one resource or several', async () => {
    const { baseUrl: issuer } = instance.keyturn
    const { clientId, clientSecret } = robot
    const audienceOf = async (resource: string | string[]) =>
      decodeJwt(await createTokenSource({ issuer, clientId, clientSecret, resource }).token()).aud
    expect(await audienceOf(BILLING)).toEqual([BILLING])
    expect(await audienceOf([BILLING, SHIPPING])).toEqual([BILLING, SHIPPING])
  })
})

describe('a resource that is refused as invalid_target [RFC 8707 §2]', () => {
  it.each([
    ['is an audience of a project in which the user has no role', PAYROLL],
    ['differs by a slash', `${SHIPPING}/`],
    ['has a fragment', `${SHIPPING}#x`],
    ['is empty', ''],
  ])('%s', async (_, resource) => {
    for (const resources of [[resource], [BILLING, resource], [resource, BILLING]]) {
      // An empty one alone is as if it were missing (RFC 6749 §3.2).
      if (resource === '' && resources.length === 1) continue
      expect(await seen(await request(resources))).toEqual(refusal(400, 'invalid_target'))
    }
  })

  it('is not told from one that does not exist', async () => {
    const texts = await Promise.all(
      [PAYROLL, 'https://unknown.example'].map(async (it) => (await request([it])).text()),
    )
    expect(new Set(texts).size).toBe(1)
  })
})

describe('an audience of a project', () => {
  const audienceOf = async (resource: string) => (await request([resource])).status

  it('is granted as soon as it is added, and no more when it is removed, on every replica', async () => {
    const replica = await instance.startReplica()
    const audience = 'https://new.example'
    const there = async () => (await instance.postForm({ ...formOf(robot), resource: audience }, {}, replica)).status
    expect([await audienceOf(audience), await there()]).toEqual([400, 400])
    await admin.projects.addProjectAudience({ projectId: billing.projectId, audience })
    // Nothing is denied from memory, so the other replica need not know it yet.
    expect([await audienceOf(audience), await there()]).toEqual([200, 200])
    await admin.projects.removeProjectAudience({ projectId: billing.projectId, audience })
    expect(await audienceOf(audience)).toBe(400)
    await eventually(async () => expect(await there()).toBe(400))
  })
})
