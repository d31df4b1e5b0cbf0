import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { ROLES_SCOPE, SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import {
  type Administration,
  administrationOf,
  administrationWith,
  NOBODY,
  refusalOf,
} from '../support/administration.ts'
import { formOf, type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const { IAM_OWNER, IAM_OWNER_VIEWER } = InstanceRole

let instance: OAuthInstance
let admin: Administration
let projectId: string
let otherId: string
let userId: string
let projects = 0

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
})

beforeEach(async () => {
  projectId = await newProject()
  otherId = await newProject()
  const { serviceUser } = await admin.users.createServiceUser({
    projectId,
    name: 'robot',
    clientCredentialsEnabled: true,
  })
  userId = serviceUser!.userId
})

afterAll(() => instance?.stop())

/** A project with the role `reader` and the custom scope `print`. */
async function newProject(): Promise<string> {
  const { project } = await admin.projects.createProject({ name: `project-${++projects}` })
  await admin.projects.addProjectRole({ projectId: project!.projectId, role: 'reader' })
  await admin.projects.addProjectScope({ projectId: project!.projectId, scope: 'print' })
  return project!.projectId
}

async function user() {
  return (await admin.users.getServiceUser({ userId })).serviceUser!
}

async function requestToken(scope: string) {
  const { clientId, clientSecret } = await admin.users.generateClientSecret({ userId })
  const response = await instance.postForm({ ...formOf({ clientId, clientSecret } as never), scope })
  return (await response.json()) as { access_token?: string; error?: string }
}

describe('a project role', () => {
  it('is granted and revoked, also twice, in the own project and in others [Spec §4.1]', async () => {
    for (const project of [projectId, otherId, otherId]) {
      await admin.users.grantProjectRole({ userId, projectId: project, role: 'reader' })
    }
    const roles = (await user()).projectRoles.map((entry) => ({ projectId: entry.projectId, roles: entry.roles }))
    expect(roles).toEqual([projectId, otherId].sort().map((id) => ({ projectId: id, roles: ['reader'] })))

    const { access_token } = await requestToken(`${ROLES_SCOPE} urn:service:iam:org:project:id:${otherId}:aud`)
    expect(decodeJwt(access_token!)).toMatchObject({
      'urn:service:iam:org:project:roles': ['reader'],
      [`urn:service:iam:org:project:${otherId}:roles`]: ['reader'],
    })

    for (let i = 0; i < 2; i += 1) {
      await admin.users.revokeProjectRole({ userId, projectId: otherId, role: 'reader' })
    }
    expect((await user()).projectRoles.map((entry) => entry.projectId)).toEqual([projectId])
    const refused = await requestToken(`urn:service:iam:org:project:id:${otherId}:aud`)
    expect(refused.error).toBe('invalid_scope')
  })

  it('must exist, and so must the project', async () => {
    const grant = (project: string, role: string) =>
      refusalOf(admin.users.grantProjectRole({ userId, projectId: project, role }))
    expect(await grant(otherId, 'writer')).toMatchObject({ code: 'NotFound', reason: 'PROJECT_ROLE_NOT_FOUND' })
    expect(await grant(NOBODY, 'reader')).toMatchObject({
      code: 'NotFound',
      reason: expect.stringMatching(/^PROJECT_(ROLE_)?NOT_FOUND$/),
    })
    expect((await user()).projectRoles).toEqual([])
  })

  it('is gone with the role, and with the project', async () => {
    for (const project of [projectId, otherId]) {
      await admin.users.grantProjectRole({ userId, projectId: project, role: 'reader' })
    }
    await admin.projects.removeProjectRole({ projectId, role: 'reader' })
    expect((await user()).projectRoles.map((entry) => entry.projectId)).toEqual([otherId])
    await admin.projects.deleteProject({ projectId: otherId })
    expect((await user()).projectRoles).toEqual([])
  })
})

describe('a custom scope', () => {
  it('is granted and revoked, also twice [Spec §4.1]', async () => {
    for (let i = 0; i < 2; i += 1) await admin.users.grantScope({ userId, scope: 'print' })
    expect((await user()).scopes).toEqual(['print'])
    expect((await requestToken('print')).error).toBeUndefined()

    for (let i = 0; i < 2; i += 1) await admin.users.revokeScope({ userId, scope: 'print' })
    expect((await user()).scopes).toEqual([])
    expect((await requestToken('print')).error).toBe('invalid_scope')
  })

  it('must be one of the own project', async () => {
    await admin.projects.addProjectScope({ projectId: otherId, scope: 'scan' })
    const notFound = { code: 'NotFound', reason: 'PROJECT_SCOPE_NOT_FOUND' }
    expect(await refusalOf(admin.users.grantScope({ userId, scope: 'scan' }))).toMatchObject(notFound)
    expect(await refusalOf(admin.users.grantScope({ userId, scope: 'sc\0n' }))).toMatchObject({
      code: 'InvalidArgument',
      message: expect.stringContaining('scope'),
    })
  })
})

describe('the instance roles of a user', () => {
  it('are those that were set last', async () => {
    const set = async (...instanceRoles: InstanceRole[]) =>
      (await admin.users.setInstanceRoles({ userId, instanceRoles })).serviceUser?.instanceRoles
    expect(await set(IAM_OWNER_VIEWER)).toEqual([IAM_OWNER_VIEWER])
    expect(await set(IAM_OWNER_VIEWER, IAM_OWNER)).toEqual([IAM_OWNER, IAM_OWNER_VIEWER])
    expect(await set()).toEqual([])
    expect((await user()).instanceRoles).toEqual([])
  })

  it.each([
    ['unknown', [77 as InstanceRole]],
    ['named twice', [IAM_OWNER, IAM_OWNER]],
  ])('are refused if one is %s', async (_, instanceRoles) => {
    expect(await refusalOf(admin.users.setInstanceRoles({ userId, instanceRoles }))).toMatchObject({
      code: 'InvalidArgument',
      message: expect.stringContaining('instance_roles'),
    })
  })
})

describe('the last enabled owner', () => {
  const refused = { code: 'FailedPrecondition', reason: 'LAST_OWNER' }
  let ownerId: string

  beforeAll(async () => {
    const { client_id } = await instance.keyturn.admin()
    ownerId = client_id.split('@')[0]!
  })

  async function expectToStay(owner: string, by = admin): Promise<void> {
    const attempts = [
      () => by.users.disableServiceUser({ userId: owner }),
      () => by.users.deleteServiceUser({ userId: owner }),
      () => by.users.setInstanceRoles({ userId: owner, instanceRoles: [IAM_OWNER_VIEWER] }),
      () => by.users.setInstanceRoles({ userId: owner, instanceRoles: [] }),
    ]
    for (const attempt of attempts) expect(await refusalOf(attempt())).toMatchObject(refused)
  }

  it('stays, enabled and an owner', async () => {
    await expectToStay(ownerId)
  })

  it('stays although a disabled user is an owner too, and another user a viewer', async () => {
    await admin.users.setInstanceRoles({ userId, instanceRoles: [IAM_OWNER] })
    await admin.users.disableServiceUser({ userId })
    const { serviceUser: viewer } = await admin.users.createServiceUser({ projectId, name: 'viewer' })
    await admin.users.setInstanceRoles({ userId: viewer!.userId, instanceRoles: [IAM_OWNER_VIEWER] })
    await expectToStay(ownerId)
    await admin.users.deleteServiceUser({ userId })
  })

  it('may go when there is another one, who is the last one then', async () => {
    await admin.users.setInstanceRoles({ userId, instanceRoles: [IAM_OWNER] })
    const { access_token } = await requestToken(SERVICE_AUDIENCE_SCOPE)
    const other = administrationWith(instance.keyturn, access_token!)

    await other.users.disableServiceUser({ userId: ownerId })
    await expectToStay(userId, other)

    await other.users.enableServiceUser({ userId: ownerId })
    await admin.users.deleteServiceUser({ userId })
    await expectToStay(ownerId)
  })
})
