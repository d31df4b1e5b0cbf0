import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { administrationOf } from '../support/administration.ts'
import { formOf, type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'
import type { SeededProject } from '../support/seed.ts'

const SERVICE_AUDIENCE = 'urn:service:iam:org:project:id:service:aud'
const ROLES = 'urn:service:iam:org:projects:roles'

const audienceScope = (projectId: string) => `urn:service:iam:org:project:id:${projectId}:aud`
const rolesClaim = (projectId: string) => `urn:service:iam:org:project:${projectId}:roles`

let instance: OAuthInstance
/** The robot's own project, one it has a role in, and one it has nothing to do with. */
let billing: SeededProject
let shipping: SeededProject
let payroll: SeededProject
let robot: Robot

beforeAll(async () => {
  instance = await startOAuthInstance()
  billing = await instance.seed.project({
    name: 'billing',
    roles: ['reader', 'writer', 'auditor'],
    scopes: ['invoices:read', 'invoices:write'],
  })
  shipping = await instance.seed.project({ name: 'shipping', roles: ['viewer'], scopes: ['parcels:read'] })
  payroll = await instance.seed.project({ name: 'payroll', roles: ['viewer'], scopes: ['salaries:read'] })
  robot = await instance.addRobot({
    project: billing,
    projectRoles: { [billing.projectId]: ['writer', 'reader'], [shipping.projectId]: ['viewer'] },
    customScopes: ['invoices:read'],
  })
})

afterAll(() => instance?.stop())

async function granted(scope?: string, user = robot) {
  const response = await seen(await instance.requestToken(user, scope))
  expect(response).toMatchObject({ status: 200, body: { access_token: expect.any(String) } })
  const body = response.body as { access_token: string; scope: string }
  return { body, claims: decodeJwt(body.access_token) }
}

describe('the scope of a token request [Spec §4.1]', () => {
  it.each([
    ['the defaults of Spec §4.1', `openid ${SERVICE_AUDIENCE}`],
    ['a custom scope that is configured and granted', 'invoices:read'],
    ['everything at once', `openid ${SERVICE_AUDIENCE} ${ROLES} profile email offline_access invoices:read`],
  ])('is granted as it was asked for: %s', async (_, scope) => {
    const { body, claims } = await granted(scope)
    expect(body.scope).toBe(scope)
    expect(claims.scope).toBe(scope)
  })

  it.each([
    ['missing', undefined],
    ['empty', ''],
  ])('means openid when it is %s', async (_, scope) => {
    const { body, claims } = await granted(scope)
    expect(claims.scope).toBe('openid')
    // RFC 6749 §5.1: the client must be told a scope that it did not name.
    expect(body.scope).toBe('openid')
  })

  it.each([['+', `scope=openid+${SERVICE_AUDIENCE}`]])('may be encoded with %s', async (_, encoded) => {
    const response = await instance.fetch('/oauth/v2/token', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${new URLSearchParams(formOf(robot))}&${encoded}`,
    })
    expect(await response.json()).toMatchObject({ scope: `openid ${SERVICE_AUDIENCE}` })
  })

  it.each([
    ['a name that nobody knows', 'admin'],
    ['a custom scope that is configured but not granted', 'invoices:write'],
    ['a custom scope of another project', 'salaries:read'],
    ['the audience of an unknown project', audienceScope('5a5c4be5-0d57-4b2c-9d8e-0e4b1f1f9a11')],
    ['a very long text', 'x'.repeat(20_000)],
    ['letters beyond ASCII', 'öpenid'],
    ['nothing but a blank', ' '],
  ])('is refused as invalid_scope with %s [Spec §7]', async (_, scope) => {
    expect(await seen(await instance.requestToken(robot, scope))).toEqual(refusal(400, 'invalid_scope'))
  })

  it('does not tell an unknown scope from one that is not granted', async () => {
    const texts: string[] = []
    for (const scope of ['invoices:write', 'salaries:read', 'nothing:such', audienceScope(payroll.projectId)]) {
      texts.push((await (await instance.requestToken(robot, scope)).text()).replace(scope, '…'))
    }
    expect(new Set(texts).size).toBe(1)
  })
})

describe('the audience of a token', () => {
  it('is the user’s own project when no audience is asked for', async () => {
    expect((await granted('openid')).claims.aud).toEqual([billing.projectId])
    expect((await granted()).claims.aud).toEqual([billing.projectId])
  })

  it('is the service when resource names it, also several times [RFC 8707 §2]', async () => {
    const { baseUrl } = instance.keyturn
    const audienceOf = async (...more: [string, string][]) => {
      const response = await seen(await instance.postForm([...Object.entries(formOf(robot)), ...more]))
      expect(response).toMatchObject({ status: 200 })
      return decodeJwt((response.body as { access_token: string }).access_token).aud
    }
    const own = audienceScope(billing.projectId)
    expect(await audienceOf(['resource', baseUrl])).toEqual([baseUrl])
    expect(await audienceOf(['resource', baseUrl], ['resource', baseUrl])).toEqual([baseUrl])
    expect(await audienceOf(['resource', baseUrl], ['scope', SERVICE_AUDIENCE])).toEqual([baseUrl])
    expect(await audienceOf(['resource', baseUrl], ['scope', own])).toEqual([billing.projectId, baseUrl])
    // Empty, it counts as none (RFC 6749 §3.2).
    expect(await audienceOf(['resource', ''])).toEqual([billing.projectId])
  })

  it('keeps services of the caller’s project from accepting a token that is for the API (issue 11)', async () => {
    const verifying = (token: string, projectId: string) => {
      const keySet = new URL('/.well-known/openid-configuration/jwks', instance.keyturn.listenUrl)
      return jwtVerify(token, createRemoteJWKSet(keySet), {
        issuer: instance.keyturn.baseUrl,
        audience: projectId,
        typ: 'at+jwt',
      })
    }
    const { client_id, client_secret } = await instance.keyturn.admin()
    const tokenFor = async (scope: string) => {
      const form = { grant_type: 'client_credentials', client_id, client_secret, scope }
      return ((await (await instance.postForm(form)).json()) as { access_token: string }).access_token
    }
    const own = await tokenFor('openid')
    const [projectId = ''] = decodeJwt(own).aud as string[]
    await expect(verifying(own, projectId)).resolves.toBeDefined()
    await expect(verifying(await tokenFor(SERVICE_AUDIENCE), projectId)).rejects.toMatchObject({ claim: 'aud' })
  })
})

describe('the roles in a token [Spec §4.1]', () => {
  it('are also those of each project in the audience', async () => {
    const other = (await granted(`${ROLES} ${audienceScope(shipping.projectId)}`)).claims
    expect(other[rolesClaim(shipping.projectId)]).toEqual(['viewer'])
    expect(other).not.toHaveProperty([rolesClaim(billing.projectId)])
    const both = audienceScope(billing.projectId)
    const { claims } = await granted(`${ROLES} ${audienceScope(shipping.projectId)} ${both}`)
    expect(claims[rolesClaim(billing.projectId)]).toEqual(['reader', 'writer'])
    expect(claims[rolesClaim(shipping.projectId)]).toEqual(['viewer'])
  })

  it('are in the claim `roles` too, once the project of the audience wants that [RFC 9068 §2.2.3.1]', async () => {
    const { projectId } = shipping
    const admin = await administrationOf(instance.keyturn)
    const rolesClaimOf = async () => (await granted(`${ROLES} ${audienceScope(projectId)}`)).claims.roles
    const set = (rolesClaim: boolean) =>
      admin.projects.updateProject({ projectId, rolesClaim, updateMask: { paths: ['roles_claim'] } })
    expect(await rolesClaimOf()).toBeUndefined()
    expect((await set(true)).project).toMatchObject({ name: 'shipping', rolesClaim: true })
    expect(await rolesClaimOf()).toEqual(['viewer'])
    expect((await set(false)).project?.rolesClaim).toBe(false)
    expect(await rolesClaimOf()).toBeUndefined()
  })
})
