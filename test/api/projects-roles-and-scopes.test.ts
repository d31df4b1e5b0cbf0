import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type Administration, administrationOf, pagesOf, refusalOf } from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

let instance: OAuthInstance
let admin: Administration
let projectId: string
let names = 0

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
})

beforeEach(async () => {
  const { project } = await admin.projects.createProject({ name: `project-${++names}` })
  projectId = project!.projectId
})

afterAll(() => instance?.stop())

/** Roles and custom scopes are the same but for their names. */
const KINDS = [
  {
    kind: 'role',
    add: (role: string) => admin.projects.addProjectRole({ projectId, role }),
    remove: (role: string) => admin.projects.removeProjectRole({ projectId, role }),
    list: async (page: object = {}) => {
      const { roles, nextPageToken } = await admin.projects.listProjectRoles({ projectId, ...page })
      return { names: roles, nextPageToken }
    },
    notFound: 'PROJECT_ROLE_NOT_FOUND',
    invalid: ['', 'a b', 'ü', 'a/b', 'x'.repeat(101)],
  },
  {
    kind: 'scope',
    add: (scope: string) => admin.projects.addProjectScope({ projectId, scope }),
    remove: (scope: string) => admin.projects.removeProjectScope({ projectId, scope }),
    list: async (page: object = {}) => {
      const { scopes, nextPageToken } = await admin.projects.listProjectScopes({ projectId, ...page })
      return { names: scopes, nextPageToken }
    },
    notFound: 'PROJECT_SCOPE_NOT_FOUND',
    invalid: ['', 'a b', 'ü', 'a"b', 'a\\b', 'x'.repeat(201)],
  },
]

/** Some of the forms that RFC 8707 §2 excludes, and that could never be requested. */
const NO_AUDIENCES = [
  '',
  'api',
  '/api',
  'https://',
  'https://api.example/#x',
  'https://a b',
  'https://ü.example',
  `urn:${'x'.repeat(197)}`,
]

describe.each(KINDS)('a $kind of a project', ({ add, remove, list, notFound, invalid }) => {
  it('is added, also twice, listed and removed', async () => {
    await add('reader')
    await add('reader')
    await add('Admin.v2:all-of_it')
    expect(await list()).toEqual({ names: ['Admin.v2:all-of_it', 'reader'], nextPageToken: '' })
    await remove('reader')
    expect(await list()).toEqual({ names: ['Admin.v2:all-of_it'], nextPageToken: '' })
    expect(await refusalOf(remove('reader'))).toMatchObject({ code: 'NotFound', reason: notFound })
  })

  it('is listed in pages, ordered by name', async () => {
    const made = ['b', 'a', 'B', 'a-1', 'a1', 'c', 'd']
    for (const name of made) await add(name)
    const pages = await pagesOf((pageToken) => list({ pageSize: 3, pageToken }))
    expect(pages.map((page) => page.names)).toEqual([['B', 'a', 'a-1'], ['a1', 'b', 'c'], ['d']])
  })

  it('is refused when it cannot be one', async () => {
    for (const name of invalid) {
      expect(await refusalOf(add(name))).toMatchObject({ code: 'InvalidArgument', reason: 'INVALID_ARGUMENT' })
    }
    expect(await list()).toEqual({ names: [], nextPageToken: '' })
  })
})

describe('an audience of a project', () => {
  it('is added, also twice, listed in pages and removed', async () => {
    const audiences = ['https://api.example', 'https://api.example/v2?x=[1]', `urn:${'x'.repeat(196)}`]
    for (const audience of [...audiences, audiences[0]!])
      await admin.projects.addProjectAudience({ projectId, audience })
    const pages = await pagesOf((pageToken) =>
      admin.projects.listProjectAudiences({ projectId, pageSize: 2, pageToken }),
    )
    expect(pages.map((page) => page.audiences)).toEqual([audiences.slice(0, 2), audiences.slice(2)])
    const removed = { projectId, audience: audiences[0]! }
    await admin.projects.removeProjectAudience(removed)
    expect((await admin.projects.listProjectAudiences({ projectId })).audiences).toEqual(audiences.slice(1))
    expect(await refusalOf(admin.projects.removeProjectAudience(removed))).toMatchObject({
      code: 'NotFound',
      reason: 'PROJECT_AUDIENCE_NOT_FOUND',
    })
  })

  it.each(NO_AUDIENCES)('is not %j', async (audience) => {
    expect(await refusalOf(admin.projects.addProjectAudience({ projectId, audience }))).toMatchObject({
      code: 'InvalidArgument',
      reason: 'INVALID_ARGUMENT',
    })
    expect((await admin.projects.listProjectAudiences({ projectId })).audiences).toEqual([])
  })
})

describe('a page token', () => {
  it('is good for its own list only', async () => {
    for (const name of ['a', 'b']) await admin.projects.addProjectRole({ projectId, role: name })
    const { nextPageToken: pageToken } = await admin.projects.listProjectRoles({ projectId, pageSize: 1 })
    expect((await admin.projects.listProjectRoles({ projectId, pageToken })).roles).toEqual(['b'])

    const { project } = await admin.projects.createProject({ name: `project-${++names}` })
    const strange = { code: 'InvalidArgument', message: expect.stringContaining('page_token') }
    const elsewhere = [
      admin.projects.listProjectScopes({ projectId, pageToken }),
      admin.projects.listProjectRoles({ projectId: project!.projectId, pageToken }),
      admin.projects.listProjects({ pageToken }),
      admin.users.listServiceUsers({ pageToken }),
      admin.audit.listAuditEvents({ pageToken }),
    ]
    for (const refusal of await Promise.all(elsewhere.map(refusalOf))) expect(refusal).toMatchObject(strange)
  })
})
