import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MOMENT, openTerminal, refuses, says, type Terminal, tooLong, UUID } from '../../support/terminal.ts'

let terminal: Terminal
beforeAll(async () => {
  terminal = await openTerminal()
})
afterAll(() => terminal?.close())

const keyturn = (...args: string[]) => terminal.run('projects', ...args)

/** The projects as the API lists them, asked for without the command line. */
type ListedProject = { projectId: string; name: string; rolesClaim?: boolean }

async function projectsOfTheApi(): Promise<ListedProject[]> {
  const { projects } = await terminal.call<{ projects: ListedProject[] }>(
    'iam.project.v2.ProjectService/ListProjects',
    {},
  )
  return projects
}

async function idOf(name: string): Promise<string> {
  return (await projectsOfTheApi()).find((project) => project.name === name)!.projectId
}

describe('keyturn projects create and list', () => {
  it('creates a project and says its id', async () => {
    const { code, stdout, stderr } = await keyturn('create', 'billing')
    expect({ code, stdout, stderr }).toEqual(says(`created billing (${await idOf('billing')})`))
  })

  it('lists projects by name, in a table that fits a terminal of 80 columns', async () => {
    await keyturn('create', 'archive')
    const lines = await terminal.lines('projects', 'list')
    expect(lines[0]).toMatch(/^PROJECT ID {28}NAME +CREATION DATE$/)
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^${UUID}  archive  ${MOMENT}$`)),
      expect.stringMatching(new RegExp(`^${UUID}  billing  ${MOMENT}$`)),
      expect.stringMatching(new RegExp(`^${UUID}  keyturn  ${MOMENT}$`)),
    ])
    expect(tooLong(lines)).toBeUndefined()
  })
})

describe('keyturn projects rename and delete', () => {
  it('takes a name or an id, and says that the client IDs of the users change', async () => {
    await keyturn('create', 'first')
    const projectId = await idOf('first')
    expect(await keyturn('rename', 'first', 'second')).toEqual(
      says('renamed: the client IDs of its users now end in @second'),
    )
    expect(await keyturn('rename', projectId, 'third')).toEqual(
      says('renamed: the client IDs of its users now end in @third'),
    )
    expect(await idOf('third')).toBe(projectId)
    expect(await keyturn('delete', 'third')).toEqual(says('deleted third'))
    expect((await projectsOfTheApi()).map(({ name }) => name)).not.toContain('third')
  })

  it('puts roles into the claim roles of tokens, or not', async () => {
    await keyturn('create', 'claimed')
    const isOn = async () => (await projectsOfTheApi()).find(({ name }) => name === 'claimed')?.rolesClaim
    expect((await keyturn('roles-claim', 'claimed', 'on')).stdout).toMatch(/^roles claim +true$/m)
    expect(await isOn()).toBe(true)
    await keyturn('roles-claim', 'claimed', 'off')
    await keyturn('delete', 'claimed')
  })

  it.each([
    [['rename', 'nobody', 'somebody']],
    [['delete', 'nobody']],
    [['roles', 'list', 'nobody']],
    [['scopes', 'add', 'nobody', 'x']],
  ])('%j says that there is no such project', async (args) => {
    expect(await keyturn(...args)).toEqual(
      refuses('there is no project "nobody": "keyturn projects list" prints those that exist'),
    )
  })
})

describe.each([
  ['roles', 'role', 'reader', 'writer'],
  ['scopes', 'scope', 'invoices:read', 'invoices:write'],
  ['audiences', 'audience', 'https://billing.example', 'urn:billing'],
])('keyturn projects %s', (group, noun, first, second) => {
  it('adds, lists and removes', async () => {
    expect(await keyturn(group, 'add', 'billing', second)).toEqual(says(`added the ${noun} ${second}`))
    expect(await keyturn(group, 'add', 'billing', first)).toEqual(says(`added the ${noun} ${first}`))
    expect(await keyturn(group, 'add', await idOf('billing'), first)).toMatchObject({ code: 0 })
    expect(await terminal.lines('projects', group, 'list', 'billing')).toEqual([group.toUpperCase(), first, second])
    expect(await keyturn(group, 'remove', 'billing', first)).toEqual(says(`removed ${first}`))
    expect(await terminal.json('projects', group, 'list', 'billing')).toEqual({ [group]: [second] })
  })
})

describe('keyturn projects members', () => {
  let clientId: string
  beforeAll(async () => {
    for (const project of ['team', 'other']) await terminal.lines('projects', 'create', project)
    await terminal.lines('projects', 'roles', 'add', 'other', 'reader')
    clientId = (await terminal.lines('users', 'create', 'boss', '--project', 'team'))[0]!.replace('created ', '')
  })
  const members = (...args: string[]) => terminal.run('projects', 'members', ...args)
  const userId = () => clientId.split('@')[0]!

  it('sets a role over a project, lists it in a table that fits a terminal, and takes it away', async () => {
    const viewer = await members('set', 'team', 'boss@team', '--role', 'PROJECT_OWNER_VIEWER')
    expect(viewer.stdout).toMatch(/^role +PROJECT_OWNER_VIEWER$/m)
    expect(await members('set', 'team', clientId)).toMatchObject({ code: 0 })
    const lines = await terminal.lines('projects', 'members', 'list', 'team')
    expect(lines).toEqual([expect.stringMatching(/^USER ID +NAME +ROLE$/), `${userId()}  boss  PROJECT_OWNER`])
    expect(tooLong(lines)).toBeUndefined()
    expect(await terminal.json('projects', 'members', 'list', 'team')).toEqual({
      members: [{ userId: userId(), name: 'boss', role: 'PROJECT_MEMBER_ROLE_PROJECT_OWNER' }],
    })
    expect(await members('remove', 'team', clientId)).toEqual(says(`removed ${clientId}`))
    expect(await terminal.json('projects', 'members', 'list', 'team')).toEqual({})
  })

  it('lets a member work with names in its project, and says of others that they do not exist', async () => {
    const credentials = join(terminal.server.dataDir, 'boss.json')
    await terminal.lines('secrets', 'generate', clientId, '--out', credentials)
    await terminal.lines('projects', 'members', 'set', 'team', clientId)
    await terminal.lines('users', 'grant', clientId, '--role', 'other:reader')
    const as = (...args: string[]) => terminal.run(...args, '--credentials', credentials)
    expect(await as('projects', 'roles', 'add', 'team', 'writer')).toEqual(says('added the role writer'))
    expect(await as('users', 'grant', 'boss@team', '--role', 'team:writer')).toMatchObject({ code: 0 })
    expect(await as('projects', 'roles', 'list', 'other')).toEqual(
      refuses('there is no project "other": "keyturn projects list" prints those that exist'),
    )
  })
})
