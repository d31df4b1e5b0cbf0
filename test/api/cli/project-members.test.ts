import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTerminal, refuses, says, type Terminal, tooLong } from '../../support/terminal.ts'

let terminal: Terminal
let clientId: string
beforeAll(async () => {
  terminal = await openTerminal()
  for (const project of ['team', 'other']) await terminal.lines('projects', 'create', project)
  await terminal.lines('projects', 'roles', 'add', 'other', 'reader')
  clientId = (await terminal.lines('users', 'create', 'boss', '--project', 'team'))[0]!.replace('created ', '')
})
afterAll(() => terminal?.close())

const members = (...args: string[]) => terminal.run('projects', 'members', ...args)
const userId = () => clientId.split('@')[0]!

describe('keyturn projects members', () => {
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
