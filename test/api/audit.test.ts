import { generateKeyPairSync } from 'node:crypto'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { type Administration, administrationOf, pagesOf } from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const USERS = 'iam.user.v2.ServiceUserService'

let instance: OAuthInstance
let admin: Administration
let adminId: string
let names = 0

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ACTIVATION_GUARD: 'off' })
  admin = await administrationOf(instance.keyturn)
  adminId = (await instance.keyturn.admin()).client_id.split('@')[0]!
})

afterAll(() => instance?.stop())

/** The events about a resource and its parts, oldest first, as lines. */
async function trailOf(resource: string): Promise<string[]> {
  const { events } = await admin.audit.listAuditEvents({ resource, pageSize: 1000 })
  return events.toReversed().map((event) => `${event.actor} ${event.action} ${event.resource} ${event.outcome}`)
}

async function newProject(): Promise<string> {
  const { project } = await admin.projects.createProject({ name: `project-${++names}` })
  return project!.projectId
}

async function newUser(projectId: string): Promise<string> {
  const { serviceUser } = await admin.users.createServiceUser({ projectId, name: 'robot' })
  return serviceUser!.userId
}

describe('the audit trail', () => {
  it('has an event for each change of a service user', async () => {
    const projectId = await newProject()
    await admin.projects.addProjectRole({ projectId, role: 'reader' })
    await admin.projects.addProjectScope({ projectId, scope: 'print' })
    const userId = await newUser(projectId)
    await admin.users.updateServiceUser({ userId, name: 'other', updateMask: { paths: ['name'] } })
    await admin.users.disableServiceUser({ userId })
    await admin.users.enableServiceUser({ userId })
    await admin.users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
    await admin.users.grantProjectRole({ userId, projectId, role: 'reader' })
    await admin.users.revokeProjectRole({ userId, projectId, role: 'reader' })
    await admin.users.grantScope({ userId, scope: 'print' })
    await admin.users.revokeScope({ userId, scope: 'print' })
    await admin.users.deleteServiceUser({ userId })
    expect(await trailOf(`users/${userId}`)).toEqual(
      [
        ['CreateServiceUser', ''],
        ['UpdateServiceUser', ''],
        ['DisableServiceUser', ''],
        ['EnableServiceUser', ''],
        ['SetInstanceRoles', '/instance_roles'],
        ['GrantProjectRole', `/projects/${projectId}/roles/reader`],
        ['RevokeProjectRole', `/projects/${projectId}/roles/reader`],
        ['GrantScope', '/scopes/print'],
        ['RevokeScope', '/scopes/print'],
        ['DeleteServiceUser', ''],
      ].map(([method, part]) => `${adminId} ${USERS}/${method} users/${userId}${part} ok`),
    )
  })

  it('has an event for each change of a credential', async () => {
    const userId = await newUser(await newProject())
    const expirationDate = timestampFromDate(new Date(Date.now() + 3_600_000))
    const publicJwk = JSON.stringify(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }))

    const secretId = (await admin.users.generateClientSecret({ userId })).secret!.secretId
    await admin.users.deactivateClientSecret({ userId, secretId })
    await admin.users.deleteClientSecret({ userId, secretId })
    const keyId = (await admin.users.addUserKey({ userId, publicJwk })).keys[0]!.keyId
    await admin.users.removeUserKey({ userId, keyId })
    const created = await admin.users.createPersonalAccessToken({ userId, expirationDate })
    const tokenId = created.personalAccessToken!.tokenId
    await admin.users.revokePersonalAccessToken({ userId, tokenId })

    expect((await trailOf(`users/${userId}`)).slice(1)).toEqual(
      [
        ['GenerateClientSecret', `secrets/${secretId}`],
        ['DeactivateClientSecret', `secrets/${secretId}`],
        ['DeleteClientSecret', `secrets/${secretId}`],
        ['AddUserKey', `keys/${keyId}`],
        ['RemoveUserKey', `keys/${keyId}`],
        ['CreatePersonalAccessToken', `tokens/${tokenId}`],
        ['RevokePersonalAccessToken', `tokens/${tokenId}`],
      ].map(([method, part]) => `${adminId} ${USERS}/${method} users/${userId}/${part} ok`),
    )
    expect(await trailOf(`users/${userId}/keys/${keyId}`)).toHaveLength(2)
  })

  it('has nothing about calls that change nothing', async () => {
    const projectId = await newProject()
    const userId = await newUser(projectId)
    await admin.projects.addProjectRole({ projectId, role: 'reader' })
    await admin.projects.addProjectScope({ projectId, scope: 'print' })
    const { secret } = await admin.users.generateClientSecret({ userId })
    await admin.users.deactivateClientSecret({ userId, secretId: secret!.secretId })
    const before = [await trailOf(`projects/${projectId}`), await trailOf(`users/${userId}`)]

    const { project } = await admin.projects.getProject({ projectId })
    await admin.projects.updateProject({ projectId, name: project!.name, updateMask: { paths: ['name'] } })
    await admin.projects.addProjectRole({ projectId, role: 'reader' })
    await admin.projects.addProjectScope({ projectId, scope: 'print' })
    await admin.users.updateServiceUser({ userId, name: 'robot', updateMask: { paths: ['name'] } })
    await admin.users.enableServiceUser({ userId })
    await admin.users.setInstanceRoles({ userId, instanceRoles: [] })
    await admin.users.revokeProjectRole({ userId, projectId, role: 'reader' })
    await admin.users.revokeScope({ userId, scope: 'print' })
    await admin.users.deactivateClientSecret({ userId, secretId: secret!.secretId })
    expect([await trailOf(`projects/${projectId}`), await trailOf(`users/${userId}`)]).toEqual(before)
  })
})

describe('the list of events', () => {
  it('comes in pages, newest first, and none is lost or there twice', async () => {
    const projectId = await newProject()
    for (let i = 0; i < 9; i += 1) await admin.projects.addProjectRole({ projectId, role: `role-${i}` })
    const resource = `projects/${projectId}`
    const pages = await pagesOf((pageToken) => admin.audit.listAuditEvents({ resource, pageSize: 3, pageToken }))
    expect(pages.map(({ events }) => events.length)).toEqual([3, 3, 3, 1])
    const roles = Array.from({ length: 9 }, (_, i) => `${resource}/roles/role-${8 - i}`)
    expect(pages.flatMap(({ events }) => events.map((event) => event.resource))).toEqual([...roles, resource])
  })
})
