/**
 * What users with a role over a project see and change, and what nobody but an owner of the instance can give them.
 */
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import {
  type Administration,
  administrationOf,
  administrationWith,
  NOBODY,
  pagesOf,
  refusalOf,
} from '../support/administration.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { newPersonalAccessToken } from './losses.ts'

const { PROJECT_OWNER, PROJECT_OWNER_VIEWER } = ProjectMemberRole
const DAY = 86_400_000

let instance: OAuthInstance
let replica: Keyturn
let admin: Administration
let projects = 0
let own: Project
let foreign: Project

/** A project with the role `reader` and one service user. */
interface Project {
  readonly projectId: string
  readonly name: string
  readonly userId: string
}

/** A user with a token, and its clients. */
interface Caller extends Administration {
  readonly userId: string
}

beforeAll(async () => {
  instance = await startOAuthInstance()
  replica = await instance.startReplica()
  admin = await administrationOf(instance.keyturn)
})
afterAll(() => instance?.stop())
beforeEach(async () => {
  own = await newProject()
  foreign = await newProject()
})

async function newProject(): Promise<Project> {
  projects += 1
  const name = `project-${projects}`
  const { projectId } = (await admin.projects.createProject({ name })).project!
  await admin.projects.addProjectRole({ projectId, role: 'reader' })
  return { projectId, name, userId: await newUser(projectId) }
}

async function newUser(projectId: string, name = 'robot'): Promise<string> {
  const { serviceUser } = await admin.users.createServiceUser({ projectId, name, clientCredentialsEnabled: true })
  return serviceUser!.userId
}

/** A user with these roles, by project or over the instance. */
async function newCaller(
  members: readonly (readonly [Project, ProjectMemberRole])[] = [],
  instanceRoles: InstanceRole[] = [],
): Promise<Caller> {
  const home = await newProject()
  const userId = await newUser(home.projectId, 'caller')
  const token = await newPersonalAccessToken(admin, userId)
  for (const [{ projectId }, role] of members) await admin.projects.setProjectMember({ projectId, userId, role })
  await admin.users.setInstanceRoles({ userId, instanceRoles })
  return { ...administrationWith(instance.keyturn, token), userId }
}

const denied = (permission: string) => ({
  code: 'PermissionDenied',
  reason: 'PERMISSION_MISSING',
  message: expect.stringContaining(permission),
})
const NOT_HELD = { code: 'PermissionDenied', reason: 'PERMISSION_NOT_HELD' }
const NO_USER = { code: 'NotFound', reason: 'USER_NOT_FOUND' }
const NO_PROJECT = { code: 'NotFound', reason: 'PROJECT_NOT_FOUND' }
const NO_ROLE = { code: 'NotFound', reason: 'PROJECT_ROLE_NOT_FOUND' }

describe('the members of a project', () => {
  it('are set, changed, listed by user id in pages, shown with the user, and removed, also twice', async () => {
    const { projectId } = own
    const userIds = [own.userId, foreign.userId, await newUser(projectId), await newUser(projectId)].sort()
    for (const userId of userIds) await admin.projects.setProjectMember({ projectId, userId, role: PROJECT_OWNER })
    const [first = ''] = userIds
    for (const role of [PROJECT_OWNER_VIEWER, PROJECT_OWNER_VIEWER]) {
      const { member } = await admin.projects.setProjectMember({ projectId, userId: first, role })
      expect(member).toMatchObject({ userId: first, name: 'robot', role: PROJECT_OWNER_VIEWER })
    }

    const pages = await pagesOf((pageToken) => admin.projects.listProjectMembers({ projectId, pageSize: 3, pageToken }))
    const members = pages.flatMap((page) => page.members)
    expect(pages).toHaveLength(2)
    expect(members.map(({ userId }) => userId)).toEqual(userIds)
    expect(members.map(({ role }) => role)).toEqual([PROJECT_OWNER_VIEWER, PROJECT_OWNER, PROJECT_OWNER, PROJECT_OWNER])
    const { serviceUser } = await admin.users.getServiceUser({ userId: first })
    expect(serviceUser!.managedProjects).toMatchObject([{ projectId, role: PROJECT_OWNER_VIEWER }])

    for (const userId of [...userIds, ...userIds]) await admin.projects.removeProjectMember({ projectId, userId })
    expect((await admin.projects.listProjectMembers({ projectId })).members).toEqual([])
  })

  it('are gone with their user or the project, and cannot be of a project that does not exist', async () => {
    const { projectId, userId } = own
    const role = PROJECT_OWNER
    await admin.projects.setProjectMember({ projectId: foreign.projectId, userId, role })
    expect(await refusalOf(admin.projects.setProjectMember({ projectId: NOBODY, userId, role }))).toMatchObject(
      NO_PROJECT,
    )
    expect(await refusalOf(admin.projects.setProjectMember({ projectId, userId: NOBODY, role }))).toMatchObject(NO_USER)
    await admin.users.deleteServiceUser({ userId: foreign.userId })
    await admin.projects.deleteProject({ projectId: foreign.projectId })
    expect((await admin.users.getServiceUser({ userId })).serviceUser!.managedProjects).toEqual([])
  })
})

describe('a project owner', () => {
  it('sees its projects, their users and itself in lists, and nothing else, whatever it filters by', async () => {
    const caller = await newCaller([
      [own, PROJECT_OWNER],
      [foreign, PROJECT_OWNER_VIEWER],
    ])
    await newProject()
    const listed = await caller.projects.listProjects({})
    expect(listed.projects.map(({ projectId }) => projectId).sort()).toEqual([own.projectId, foreign.projectId].sort())
    const pages = await pagesOf((pageToken) => caller.users.listServiceUsers({ pageSize: 1, pageToken }))
    const userIds = pages.flatMap(({ serviceUsers }) => serviceUsers.map(({ userId }) => userId))
    expect(userIds.sort()).toEqual([own.userId, foreign.userId, caller.userId].sort())
    const hidden = (await newProject()).projectId
    expect((await caller.users.listServiceUsers({ projectId: hidden })).serviceUsers).toEqual([])
  })

  it('grants a role of another project only if it has the right over both', async () => {
    const [one, both] = [
      await newCaller([[own, PROJECT_OWNER]]),
      await newCaller([
        [own, PROJECT_OWNER],
        [foreign, PROJECT_OWNER],
      ]),
    ]
    const grant = { userId: own.userId, projectId: foreign.projectId, role: 'reader' }
    expect(await refusalOf(one.users.grantProjectRole(grant))).toMatchObject(NO_ROLE)
    const absent = await refusalOf(one.users.grantProjectRole({ ...grant, projectId: NOBODY }))
    expect(absent).toEqual(await refusalOf(one.users.grantProjectRole(grant)))
    await admin.projects.setProjectMember({
      projectId: foreign.projectId,
      userId: one.userId,
      role: PROJECT_OWNER_VIEWER,
    })
    expect(await refusalOf(one.users.grantProjectRole(grant))).toMatchObject(denied('iam.user.write'))
    await both.users.grantProjectRole(grant)
    // Less is within its own right.
    await one.users.revokeProjectRole(grant)
  })

  it('gives roles over its project to its own users, and to nobody whom another team manages', async () => {
    const caller = await newCaller([[own, PROJECT_OWNER]])
    const { projectId } = own
    const role = PROJECT_OWNER
    await caller.projects.setProjectMember({ projectId, userId: own.userId, role })
    const theirs = { projectId, userId: foreign.userId, role }
    expect(await refusalOf(caller.projects.setProjectMember(theirs))).toMatchObject(NO_USER)
    const foreignProject = { projectId: foreign.projectId, userId: own.userId, role }
    expect(await refusalOf(caller.projects.setProjectMember(foreignProject))).toMatchObject(NO_PROJECT)
    expect(await refusalOf(caller.projects.setProjectMember({ ...foreignProject, projectId: NOBODY }))).toMatchObject(
      NO_PROJECT,
    )
  })

  it('makes no user in a project that it does not own', async () => {
    const caller = await newCaller([
      [own, PROJECT_OWNER],
      [foreign, PROJECT_OWNER_VIEWER],
    ])
    const hidden = (await newProject()).projectId
    const create = (projectId: string) => refusalOf(caller.users.createServiceUser({ projectId, name: 'x' }))
    expect(await create(foreign.projectId)).toMatchObject(denied('iam.user.write'))
    expect(await create(hidden)).toMatchObject({ ...NO_PROJECT, message: `there is no project "${hidden}"` })
    expect(await create(NOBODY)).toMatchObject({ ...NO_PROJECT, message: `there is no project "${NOBODY}"` })
  })

  it('is one on every replica for the next call, and on every replica no more once the role is taken away', async () => {
    const caller = await newCaller()
    const there = administrationWith(replica, caller.token)
    const rename = (name: string) =>
      there.users.updateServiceUser({ userId: own.userId, name, updateMask: { paths: ['name'] } })
    expect(await refusalOf(rename('before'))).toMatchObject(denied('iam.user.write'))
    const { projectId } = own
    await admin.projects.setProjectMember({ projectId, userId: caller.userId, role: PROJECT_OWNER })
    expect((await rename('while')).serviceUser!.name).toBe('while')
    await admin.projects.removeProjectMember({ projectId, userId: caller.userId })
    expect(await refusalOf(rename('after'))).toMatchObject(denied('iam.user.write'))
    expect(await refusalOf(there.users.getServiceUser({ userId: own.userId }))).toMatchObject(NO_USER)
  })
})

describe('a user who may do more than the caller', () => {
  it.each([
    ['an owner', [InstanceRole.IAM_OWNER]],
    ['an auditor', [InstanceRole.IAM_AUDITOR]],
  ])('such as %s is not changed by a user administrator in any way', async (_, instanceRoles) => {
    const caller = await newCaller([], [InstanceRole.IAM_USER_ADMINISTRATOR])
    const { userId, projectId } = own
    await admin.users.setInstanceRoles({ userId, instanceRoles })
    const expirationDate = timestampFromDate(new Date(Date.now() + DAY))
    for (const change of [
      () => caller.users.generateClientSecret({ userId }),
      () => caller.users.createPersonalAccessToken({ userId, expirationDate }),
      () =>
        caller.certificates.addClientCertificate({ userId, match: { match: { case: 'sanDns', value: 'x.example' } } }),
      () => caller.users.disableServiceUser({ userId }),
      () => caller.users.deleteServiceUser({ userId }),
      () => caller.users.revokeTokens({ userId }),
      () => caller.users.grantProjectRole({ userId, projectId, role: 'reader' }),
      () => caller.users.updateServiceUser({ userId, tokenClaims: '{"a":1}', updateMask: { paths: ['token_claims'] } }),
      () => caller.projects.setProjectMember({ userId, projectId, role: PROJECT_OWNER }),
    ]) {
      expect(await refusalOf(change())).toMatchObject(NOT_HELD)
    }
    expect((await caller.users.getServiceUser({ userId })).serviceUser!.instanceRoles).toEqual(instanceRoles)
  })

  it('such as one who manages another project is not changed by a project owner', async () => {
    const caller = await newCaller([[own, PROJECT_OWNER]])
    const { userId } = own
    await admin.projects.setProjectMember({ projectId: foreign.projectId, userId, role: PROJECT_OWNER_VIEWER })
    expect(await refusalOf(caller.users.generateClientSecret({ userId }))).toMatchObject(NOT_HELD)
    await admin.projects.removeProjectMember({ projectId: foreign.projectId, userId })
    expect((await caller.users.generateClientSecret({ userId })).clientSecret).not.toBe('')
  })
})

describe('a user without a role', () => {
  const at = (milliseconds: number) => timestampFromDate(new Date(Date.now() + milliseconds))

  it('rotates its own secret and lists its credentials, which the audit trail shows as its own doing', async () => {
    const { userId, users } = await newCaller()
    const old = (await admin.users.generateClientSecret({ userId })).secret!
    const { secret, clientId, clientSecret } = await users.generateClientSecret({ userId })
    expect((await instance.requestToken({ clientId, clientSecret } as never)).status).toBe(200)
    await users.deactivateClientSecret({ userId, secretId: old.secretId })
    await users.deleteClientSecret({ userId, secretId: old.secretId })
    const { secrets } = await users.listClientSecrets({ userId })
    expect(secrets.map(({ secretId }) => secretId)).toEqual([secret!.secretId])
    const resource = `users/${userId}/secrets/${secret!.secretId}`
    const { events } = await admin.audit.listAuditEvents({ resource })
    expect(events).toMatchObject([
      { actor: userId, action: 'iam.user.v2.ServiceUserService/GenerateClientSecret', outcome: 'ok' },
    ])
  })

  it('generates none without a secret that works', async () => {
    const { userId, users } = await newCaller()
    const expected = { code: 'FailedPrecondition', reason: 'CLIENT_SECRET_MISSING' }
    expect(await refusalOf(users.generateClientSecret({ userId }))).toMatchObject(expected)
    const { secret } = await admin.users.generateClientSecret({ userId })
    await admin.users.deactivateClientSecret({ userId, secretId: secret!.secretId })
    expect(await refusalOf(users.generateClientSecret({ userId }))).toMatchObject(expected)
  })

  it('generates none that works longer than those that it has', async () => {
    const { userId, users } = await newCaller()
    for (const days of [1, 2]) await admin.users.generateClientSecret({ userId, expirationDate: at(days * DAY) })
    const tooLate = { code: 'InvalidArgument', reason: 'EXPIRATION_TOO_LATE' }
    expect(await refusalOf(users.generateClientSecret({ userId }))).toMatchObject(tooLate)
    expect(await refusalOf(users.generateClientSecret({ userId, expirationDate: at(2.1 * DAY) }))).toMatchObject(
      tooLate,
    )
    const { secrets } = await users.listClientSecrets({ userId })
    const latest = secrets
      .map(({ expirationDate }) => expirationDate!)
      .sort((a, b) => Number(b.seconds - a.seconds))[0]!
    const { secret } = await users.generateClientSecret({ userId, expirationDate: latest })
    expect(timestampDate(secret!.expirationDate!)).toEqual(timestampDate(latest))
  })

  it('makes 30 changes at once and then few, and holds up no administrator', async () => {
    const { userId, users } = await newCaller()
    await admin.users.generateClientSecret({ userId })
    for (let times = 0; times < 15; times += 1) {
      const { secret } = await users.generateClientSecret({ userId })
      await users.deleteClientSecret({ userId, secretId: secret!.secretId })
    }
    expect(await refusalOf(users.generateClientSecret({ userId }))).toMatchObject({
      code: 'ResourceExhausted',
      reason: 'SELF_SERVICE_LIMIT_REACHED',
    })
    await admin.users.generateClientSecret({ userId })
  })

  it('is bound by that also with a role that is not over its own project', async () => {
    const { userId, users } = await newCaller([[own, PROJECT_OWNER]], [InstanceRole.IAM_KEY_OPERATOR])
    expect(await refusalOf(users.generateClientSecret({ userId }))).toMatchObject({ reason: 'CLIENT_SECRET_MISSING' })
  })

  it('adds no other credential of its own, and does not see others', async () => {
    const { userId, users } = await newCaller()
    const addToken = users.createPersonalAccessToken({ userId, expirationDate: at(DAY) })
    expect(await refusalOf(addToken)).toMatchObject(denied('iam.user.credential.write'))
    expect(await refusalOf(users.getServiceUser({ userId: own.userId }))).toMatchObject(NO_USER)
    expect((await users.listServiceUsers({})).serviceUsers.map((user) => user.userId)).toEqual([userId])
  })
})
