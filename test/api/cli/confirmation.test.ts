import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { runKeyturnInProcess } from '../../support/keyturn.ts'
import { openTerminal, type Terminal } from '../../support/terminal.ts'

let terminal: Terminal
afterAll(() => terminal?.close())

const atTerminal = (args: readonly string[], typed: readonly string[]) =>
  runKeyturnInProcess(args, { KEYTURN_DATA_DIR: terminal.server.dataDir }, { typed })

/** What each command destroys, as it can be listed. */
const things: Record<string, { command: string[]; question: string; list: string[] }> = {}
beforeAll(async () => {
  terminal = await openTerminal()
  const [project, user] = ['shop', 'checkout@shop']
  await terminal.lines('projects', 'create', project)
  await terminal.lines('projects', 'create', 'empty')
  await terminal.lines('projects', 'roles', 'add', project, 'reader')
  await terminal.lines('users', 'create', 'checkout', '--project', project)
  const { userId } = (await terminal.json<{ serviceUser: { userId: string } }>('users', 'show', user)).serviceUser
  const secretId = (await terminal.json<{ secret: { secretId: string } }>('secrets', 'generate', user)).secret.secretId
  const { stdout } = await terminal.run('keys', 'create', '--json')
  const { keyId } = (JSON.parse(stdout) as { webKey: { keyId: string } }).webKey
  Object.assign(things, {
    'users delete': {
      command: ['users', 'delete', user],
      question: `Delete the user ${userId} with its secrets, keys, tokens and roles?`,
      list: ['users', 'list'],
    },
    'projects roles remove': {
      command: ['projects', 'roles', 'remove', project, 'reader'],
      question: `Remove the role reader from ${project} and from everybody who has it?`,
      list: ['projects', 'roles', 'list', project],
    },
    'secrets delete': {
      command: ['secrets', 'delete', user, secretId],
      question: `Delete the secret ${secretId}?`,
      list: ['secrets', 'list', user],
    },
    'keys revoke': {
      command: ['keys', 'revoke', keyId],
      question: `Revoke the key ${keyId} for good? All tokens that it signed are refused then.`,
      list: ['keys', 'list'],
    },
  })
})

describe('what cannot be undone', () => {
  it.each(['projects roles remove', 'secrets delete', 'keys revoke', 'users delete'])(
    '%s is asked about at a terminal, and done after a yes only',
    async (name) => {
      const { command, question, list } = things[name]!
      const before = await terminal.json(...list)
      for (const typed of [['n'], ['yesterday'], []]) {
        expect(await atTerminal(command, typed)).toEqual({
          code: 1,
          stdout: '',
          stderr: `${question} [y/N] keyturn: nothing was changed\n`,
        })
      }
      expect(await terminal.json(...list)).toEqual(before)
      expect(await atTerminal(command, ['y'])).toMatchObject({ code: 0, stderr: `${question} [y/N] ` })
      expect(await terminal.json(...list)).not.toEqual(before)
    },
  )
})
