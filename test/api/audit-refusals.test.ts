import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Administration, administrationOf, administrationWith, NOBODY } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { formOf, type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const PROJECTS = 'iam.project.v2.ProjectService'
const USERS = 'iam.user.v2.ServiceUserService'
const WEB_KEYS = 'iam.webkey.v2beta.WebKeyService'

let instance: OAuthInstance
let admin: Administration
let adminId: string
let projectId: string

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
  adminId = (await instance.keyturn.admin()).client_id.split('@')[0]!
  const { project } = await admin.projects.createProject({ name: 'billing' })
  projectId = project!.projectId
})

afterAll(() => instance?.stop())

/** The event of the request with this id, once it has been written down. */
async function eventOf(requestId: string) {
  return await eventually(async () => {
    const { events } = await admin.audit.listAuditEvents({ pageSize: 1000 })
    const event = events.find((candidate) => candidate.requestId === requestId)
    if (event === undefined) throw new Error(`no event of ${requestId} yet`)
    const { actor, action, resource, outcome } = event
    return { actor, action, resource, outcome }
  })
}

describe('a refused call of an administrator is an event', () => {
  it.each<[string, () => [string, object], string]>([
    ['PROJECT_NOT_FOUND', () => [`${PROJECTS}/GetProject`, { projectId: NOBODY }], `projects/${NOBODY}`],
    ['PROJECT_NAME_TAKEN', () => [`${PROJECTS}/CreateProject`, { name: 'keyturn' }], ''],
    [
      'PROJECT_ROLE_NOT_FOUND',
      () => [`${PROJECTS}/RemoveProjectRole`, { projectId, role: 'none' }],
      'projects/:project/roles/none',
    ],
    ['LAST_OWNER', () => [`${USERS}/DisableServiceUser`, { userId: adminId }], 'users/:admin'],
    [
      'CLIENT_SECRET_NOT_FOUND',
      () => [`${USERS}/DeleteClientSecret`, { userId: adminId, secretId: NOBODY.toUpperCase() }],
      `users/:admin/secrets/${NOBODY}`,
    ],
    [
      'EXPIRATION_IN_PAST',
      () => [`${USERS}/GenerateClientSecret`, { userId: adminId, expirationDate: '2001-01-01T00:00:00Z' }],
      'users/:admin',
    ],
    [
      'WEB_KEY_NOT_FOUND',
      () => [`${WEB_KEYS}/ActivateWebKey`, { keyId: 'x'.repeat(43) }],
      `web_keys/${'x'.repeat(43)}`,
    ],
  ])('with the reason %s', async (outcome, request, resource) => {
    const [action, body] = request()
    const { status, headers } = await admin.post(action, body)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(await eventOf(headers.get('x-request-id')!)).toEqual({
      actor: adminId,
      action,
      resource: resource.replace(':project', projectId).replace(':admin', adminId),
      outcome,
    })
  })
})

describe('a refused call of somebody else is an event', () => {
  it('of the user whose permission is missing', async () => {
    const robot = await instance.addRobot()
    const token = await instance.accessToken(robot, 'urn:service:iam:org:project:id:service:aud')
    const action = `${PROJECTS}/DeleteProject`
    const { headers } = await administrationWith(instance.keyturn, token).post(action, { projectId })
    expect(await eventOf(headers.get('x-request-id')!)).toEqual({
      actor: robot.userId,
      action,
      resource: '',
      outcome: 'PERMISSION_MISSING',
    })
  })

  it.each([
    ['TOKEN_MISSING', {}],
    ['TOKEN_INVALID', { authorization: `Bearer ktn_pat_${'A'.repeat(43)}` }],
  ])('of an anonymous caller: %s', async (outcome, headers) => {
    const action = `${WEB_KEYS}/ListWebKeys`
    const response = await instance.fetch(`/${action}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'x-request-id': 'from-the-client' },
      body: '{}',
    })
    expect(response.status).toBe(401)
    expect(await eventOf(response.headers.get('x-request-id')!)).toEqual({
      actor: 'anonymous',
      action,
      resource: '',
      outcome,
    })
  })
})

describe('a failed authentication of a user at the token endpoint', () => {
  const failing = async (fields: Record<string, string>) => {
    const robot = await instance.addRobot()
    const response = await instance.postForm({ ...formOf(robot), ...fields })
    expect(response.status).toBe(401)
    return { robot, requestId: response.headers.get('x-request-id')! }
  }

  it('is an event about the user that was named, in the name of no user, with the address', async () => {
    const { robot, requestId } = await failing({ client_secret: 'not the secret' })
    expect(await eventOf(requestId)).toEqual({
      actor: 'anonymous',
      action: 'oauth/token',
      resource: `users/${robot.userId}`,
      outcome: 'INVALID_CLIENT',
    })
    const { events } = await admin.audit.listAuditEvents({ resource: `users/${robot.userId}` })
    expect(events.map(({ clientAddress }) => clientAddress)).toEqual(['127.0.0.1'])
  })
})

describe('the audit trail', () => {
  it('has nothing about requests that are malformed, and nothing about reading', async () => {
    const malformed = await admin.post(`${PROJECTS}/GetProject`, { projectId: 'x' })
    const reading = await admin.post(`${PROJECTS}/GetProject`, { projectId })
    const marker = await admin.post(`${PROJECTS}/GetProject`, { projectId: NOBODY })
    await eventOf(marker.headers.get('x-request-id')!)
    const { events } = await admin.audit.listAuditEvents({ pageSize: 1000 })
    const ids = new Set(events.map((event) => event.requestId))
    expect(ids.has(malformed.headers.get('x-request-id')!)).toBe(false)
    expect(ids.has(reading.headers.get('x-request-id')!)).toBe(false)
  })
})
