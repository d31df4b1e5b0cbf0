import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Administration, administrationOf, NOBODY, pagesOf, refusalOf } from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

let instance: OAuthInstance
let admin: Administration
let projectId: string

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
  const { project } = await admin.projects.createProject({ name: 'billing' })
  projectId = project!.projectId
})

afterAll(() => instance?.stop())

async function newUser(name = 'robot', inProject = projectId): Promise<string> {
  const { serviceUser } = await admin.users.createServiceUser({ projectId: inProject, name })
  return serviceUser!.userId
}

describe('a service user', () => {
  it('is created in a project, read and deleted [Spec §5]', async () => {
    const request = { projectId, name: 'invoice printer', clientCredentialsEnabled: true }
    const { serviceUser } = await admin.users.createServiceUser(request)
    const userId = serviceUser!.userId
    expect(serviceUser).toMatchObject({
      ...request,
      userId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      clientId: `${userId}@billing`,
      enabled: true,
      instanceRoles: [],
      projectRoles: [],
      scopes: [],
    })
    expect(serviceUser?.creationDate).toBeDefined()
    expect((await admin.users.getServiceUser({ userId })).serviceUser).toEqual(serviceUser)

    await admin.users.deleteServiceUser({ userId })
    expect(await refusalOf(admin.users.getServiceUser({ userId }))).toMatchObject({
      code: 'NotFound',
      reason: 'USER_NOT_FOUND',
    })
  })

  it('changes what the mask names, and nothing else', async () => {
    const userId = await newUser('before')
    const update = async (fields: { name?: string; clientCredentialsEnabled?: boolean }, ...paths: string[]) =>
      (await admin.users.updateServiceUser({ userId, ...fields, updateMask: { paths } })).serviceUser

    expect(await update({ name: 'after', clientCredentialsEnabled: true }, 'name')).toMatchObject({
      name: 'after',
      clientCredentialsEnabled: false,
    })
    expect(await update({ clientCredentialsEnabled: true }, 'client_credentials_enabled')).toMatchObject({
      name: 'after',
      clientCredentialsEnabled: true,
    })
    expect(await update({ name: 'both' }, 'client_credentials_enabled', 'name')).toMatchObject({
      name: 'both',
      clientCredentialsEnabled: false,
    })
  })

  it.each<[string, object, string]>([
    ['without a mask', { name: 'x' }, 'update_mask'],
    ['of an unknown field', { name: 'x', updateMask: { paths: ['enabled'] } }, 'update_mask'],
    ['to no name', { updateMask: { paths: ['name'] } }, 'name'],
  ])('is not updated %s', async (_, request, field) => {
    const userId = await newUser('before')
    expect(await refusalOf(admin.users.updateServiceUser({ userId, ...request }))).toMatchObject({
      code: 'InvalidArgument',
      reason: 'INVALID_ARGUMENT',
      message: expect.stringContaining(field),
    })
    expect((await admin.users.getServiceUser({ userId })).serviceUser?.name).toBe('before')
  })

  it('is not created without a project and a name', async () => {
    const create = (request: { projectId?: string; name?: string }) => refusalOf(admin.users.createServiceUser(request))
    expect(await create({ projectId: NOBODY, name: 'x' })).toMatchObject({
      code: 'NotFound',
      reason: 'PROJECT_NOT_FOUND',
    })
    expect(await create({ projectId })).toMatchObject({ message: expect.stringContaining('name') })
    expect(await create({ name: 'x' })).toMatchObject({ message: expect.stringContaining('project_id') })
  })
})

describe('a service user that does not exist', () => {
  const userId = NOBODY
  const project = { userId, projectId: NOBODY, role: 'reader' }
  it.each<[string, () => Promise<unknown>]>([
    ['GetServiceUser', () => admin.users.getServiceUser({ userId })],
    ['UpdateServiceUser', () => admin.users.updateServiceUser({ userId, name: 'x', updateMask: { paths: ['name'] } })],
    ['DeleteServiceUser', () => admin.users.deleteServiceUser({ userId })],
    ['GrantProjectRole', () => admin.users.grantProjectRole(project)],
    ['RevokePersonalAccessToken', () => admin.users.revokePersonalAccessToken({ userId, tokenId: NOBODY })],
  ])('is not found by %s', async (_, call) => {
    expect(await refusalOf(call())).toMatchObject({ code: 'NotFound', reason: 'USER_NOT_FOUND' })
  })
})

describe('the list of service users', () => {
  it('comes in pages, oldest first, of one project or of all', async () => {
    const { project } = await admin.projects.createProject({ name: 'crowded' })
    const crowded = project!.projectId
    const made: string[] = []
    for (let i = 0; i < 7; i += 1) made.push(await newUser(`robot ${i}`, crowded))
    await newUser('in another project')

    const list = (filter: object) =>
      pagesOf((pageToken) => admin.users.listServiceUsers({ ...filter, pageSize: 2, pageToken }))
    const pages = await list({ projectId: crowded })
    expect(pages.map(({ serviceUsers }) => serviceUsers.length)).toEqual([2, 2, 2, 1])
    expect(pages.flatMap(({ serviceUsers }) => serviceUsers.map(({ userId }) => userId))).toEqual(made)

    const all = (await list({})).flatMap(({ serviceUsers }) => serviceUsers)
    expect(all[0]?.name).toBe('administrator')
    expect(all.filter((user) => user.projectId === crowded).map(({ userId }) => userId)).toEqual(made)
    expect(new Set(all.map(({ userId }) => userId)).size).toBe(all.length)
    expect(all.length).toBeGreaterThan(made.length + 1)
  })

  it('has only those that a search finds, on every page, and takes the token of a page for the same search alone', async () => {
    const { project } = await admin.projects.createProject({ name: 'found' })
    const made: string[] = []
    for (let i = 0; i < 3; i += 1) made.push(await newUser(`Night Export ${i}`, project!.projectId))
    await newUser('import', project!.projectId)
    const list = (search: string) =>
      pagesOf((pageToken) => admin.users.listServiceUsers({ search, pageSize: 2, pageToken }))
    const pages = await list('night ex')
    expect(pages.map(({ serviceUsers }) => serviceUsers.map(({ userId }) => userId))).toEqual([
      made.slice(0, 2),
      made.slice(2),
    ])
    expect((await list('@found')).flatMap(({ serviceUsers }) => serviceUsers)).toHaveLength(4)
    const { nextPageToken: pageToken } = pages[0]!
    for (const search of ['', 'night']) {
      expect(await refusalOf(admin.users.listServiceUsers({ search, pageSize: 2, pageToken }))).toMatchObject({
        message: expect.stringContaining('page_token'),
      })
    }
    expect(await refusalOf(admin.users.listServiceUsers({ search: 'x'.repeat(201) }))).toMatchObject({
      message: expect.stringContaining('search'),
    })
  })
})
