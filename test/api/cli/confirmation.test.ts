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

describe('keyturn keys delete', () => {
  it('warns about a key that signed until just now, and asks', async () => {
    const { keyId } = await terminal.json<{ keyId: string }>('keys', 'list').then(active)
    await terminal.run('keys', 'activate', await createdKey())
    const warning = /^warning: tokens that the key signed may be in use until (\S+): without it verifiers refuse them\n/
    const refused = await atTerminal(['keys', 'delete', keyId], ['n'])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr.replace(warning, '')).toBe(`Delete the key ${keyId}? [y/N] keyturn: nothing was changed\n`)
    const [, until = ''] = warning.exec(refused.stderr) ?? []
    const { deactivationDate = '' } = await terminal
      .json<Keys>('keys', 'list')
      .then(({ webKeys }) => webKeys.find((key) => key.keyId === keyId)!)
    // The lifetime of a token.
    expect(Date.parse(until)).toBe(Math.floor(Date.parse(deactivationDate) / 1000) * 1000 + 3_600_000)
    const { code, stderr } = await terminal.run('keys', 'delete', keyId)
    expect(code).toBe(0)
    expect(stderr.replace(warning, '')).toBe('')
  })
})

interface Keys {
  readonly webKeys: { keyId: string; state: string; deactivationDate?: string }[]
}

function active(keys: unknown): { keyId: string } {
  return (keys as Keys).webKeys.find(({ state }) => state === 'WEB_KEY_STATE_ACTIVE')!
}

async function createdKey(): Promise<string> {
  const { stdout } = await terminal.run('keys', 'create', '--json')
  return (JSON.parse(stdout) as { webKey: { keyId: string } }).webKey.keyId
}
