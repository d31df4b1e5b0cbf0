import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Administration, administrationOf, NOBODY, pagesOf, refusalOf } from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

let instance: OAuthInstance
let admin: Administration
let names = 0

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
})

afterAll(() => instance?.stop())

async function newProject(name = `project-${++names}`): Promise<string> {
  const { project } = await admin.projects.createProject({ name })
  return project!.projectId
}

describe('a project', () => {
  it('is created, read, renamed and deleted', async () => {
    const { project } = await admin.projects.createProject({ name: 'billing' })
    expect(project).toMatchObject({ projectId: expect.stringMatching(/^[0-9a-f-]{36}$/), name: 'billing' })
    const { projectId } = project!
    expect((await admin.projects.getProject({ projectId })).project).toEqual(project)

    const renamed = await admin.projects.updateProject({ projectId, name: 'invoices', updateMask: { paths: ['name'] } })
    expect(renamed.project).toEqual({ ...project, name: 'invoices' })
    expect((await admin.projects.getProject({ projectId })).project).toEqual(renamed.project)

    await admin.projects.deleteProject({ projectId })
    expect(await refusalOf(admin.projects.getProject({ projectId }))).toMatchObject({
      code: 'NotFound',
      reason: 'PROJECT_NOT_FOUND',
    })
  })

  it('keeps a name to itself', async () => {
    await newProject('mine')
    const projectId = await newProject('yours')
    const taken = { code: 'AlreadyExists', reason: 'PROJECT_NAME_TAKEN' }
    expect(await refusalOf(admin.projects.createProject({ name: 'mine' }))).toMatchObject(taken)
    const renaming = admin.projects.updateProject({ projectId, name: 'mine', updateMask: { paths: ['name'] } })
    expect(await refusalOf(renaming)).toMatchObject(taken)
    expect((await admin.projects.getProject({ projectId })).project?.name).toBe('yours')
  })

  it('with users is not deleted', async () => {
    const projectId = await newProject()
    const { serviceUser } = await admin.users.createServiceUser({ projectId, name: 'robot' })
    expect(await refusalOf(admin.projects.deleteProject({ projectId }))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'PROJECT_HAS_USERS',
    })
    await admin.users.deleteServiceUser({ userId: serviceUser!.userId })
    await admin.projects.deleteProject({ projectId })
  })

  it.each(['', '-x', 'x_y', 'Upper', 'x'.repeat(64), 'ü', 'a b'])('is not named %j', async (name) => {
    const projectId = await newProject()
    const invalid = { code: 'InvalidArgument', reason: 'INVALID_ARGUMENT', message: expect.stringContaining('name') }
    expect(await refusalOf(admin.projects.createProject({ name }))).toMatchObject(invalid)
    const renaming = admin.projects.updateProject({ projectId, name, updateMask: { paths: ['name'] } })
    expect(await refusalOf(renaming)).toMatchObject(invalid)
  })

  it.each([['of an unknown field', { paths: ['name', 'creation_date'] }]])(
    'is not updated with a mask that is %s',
    async (_, updateMask) => {
      const projectId = await newProject()
      const request = { projectId, name: 'other', ...(updateMask === undefined ? {} : { updateMask }) }
      expect(await refusalOf(admin.projects.updateProject(request))).toMatchObject({
        code: 'InvalidArgument',
        reason: 'INVALID_ARGUMENT',
        message: expect.stringContaining('update_mask'),
      })
    },
  )
})

describe('a project that does not exist', () => {
  const role = { projectId: NOBODY, role: 'reader' }
  const audience = { projectId: NOBODY, audience: 'https://api.example' }
  it.each<[string, () => Promise<unknown>]>([
    ['GetProject', () => admin.projects.getProject({ projectId: NOBODY })],
    ['DeleteProject', () => admin.projects.deleteProject({ projectId: NOBODY })],
    ['AddProjectRole', () => admin.projects.addProjectRole(role)],
    ['AddProjectAudience', () => admin.projects.addProjectAudience(audience)],
  ])('is not found by %s', async (_, call) => {
    expect(await refusalOf(call())).toMatchObject({ code: 'NotFound', reason: 'PROJECT_NOT_FOUND' })
  })
})

describe('the list of projects', () => {
  it('comes in pages, ordered by name', async () => {
    const made = ['page-b', 'page-a', 'page', 'page-10', 'page-1', 'page0', 'pagea']
    for (const name of made) await newProject(name)
    const pages = await pagesOf((pageToken) => admin.projects.listProjects({ pageSize: 2, pageToken }))
    const listed = pages.flatMap(({ projects }) => projects.map(({ name }) => name))
    expect(listed).toEqual([...listed].sort())
    expect(new Set(listed).size).toBe(listed.length)
    expect(listed).toEqual(expect.arrayContaining([...made, 'keyturn']))
    expect(pages.slice(0, -1).map(({ projects }) => projects.length)).toEqual(pages.slice(0, -1).map(() => 2))
    expect(pages.length).toBeGreaterThan(3)
    expect((await admin.projects.listProjects({})).projects.map(({ name }) => name)).toEqual(listed)
  })
})
