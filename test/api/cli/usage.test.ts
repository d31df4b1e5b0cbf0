import { describe, expect, it } from '@jest/globals'
import { parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { runKeyturnInProcess } from '../../support/keyturn.ts'

const USER = '00000000-0000-4000-8000-000000000000'
const ADVICE = 'Run the command with --help to see what it takes.\n'

describe('wrong usage', () => {
  it.each([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['keys', 'list', '--frobnicate'], "unknown option '--frobnicate'"],
    [['keys', 'activate'], "missing required argument 'key-id'"],
    [['keys', 'list', 'x'], "too many arguments for 'list'. Expected 0 arguments but got 1: x."],
    [['users', 'tokens', 'create', USER], "required option '--expires <when>' not specified"],
    [
      ['secrets', 'generate', USER, '--expires', 'tomorrow'],
      "option '--expires <when>' argument 'tomorrow' is invalid. " +
        'Write a distance such as 90d, 12h or 30m, or a time such as 2027-01-31T00:00:00Z.',
    ],
    [
      ['audit', '--limit', '0'],
      "option '--limit <count>' argument '0' is invalid. Write a whole number, 1 to 9999999.",
    ],
    [['token', '--credentials'], "option '--credentials <file>' argument missing"],
    [
      ['keys', 'create', 'dsa'],
      "command-argument value 'dsa' is invalid for argument 'kind'. Allowed choices are rsa, ecdsa, ed25519.",
    ],
    [
      ['keys', 'create', '--bits', '1024'],
      "option '--bits <bits>' argument '1024' is invalid. Allowed choices are 2048, 3072, 4096.",
    ],
    [
      ['keys', 'create', 'ecdsa', '--curve', 'secp256k1'],
      "option '--curve <curve>' argument 'secp256k1' is invalid. Allowed choices are P256, P384, P521.",
    ],
  ])('%j exits with 2 and says what is wrong', async (args, message) => {
    expect(await runKeyturnInProcess(args)).toEqual({ code: 2, stdout: '', stderr: `error: ${message}\n${ADVICE}` })
  })

  it('corrects a slip', async () => {
    expect((await runKeyturnInProcess(['kyes', 'list'])).stderr).toContain('(Did you mean keys?)')
  })

  it.each([[[]], [['users', 'tokens']]])('%j, which names no command, exits with 2 and lists them', async (args) => {
    const { code, stdout, stderr } = await runKeyturnInProcess(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^Usage: keyturn [\s\S]*Commands:/)
  })
})

describe('--help', () => {
  it.each([
    [[], ['serve', 'demo', 'migrate', 'config', 'projects', 'users', 'secrets', 'keys', 'token', 'audit', 'recover']],
    [['keys'], ['list', 'create', 'activate', 'delete']],
    [['serve'], ['--listen', '--base-url', '--database-url', '--data-dir', '--credentials']],
  ])('of %j exits with 0 and lists everything', async (args, words) => {
    const { code, stdout, stderr } = await runKeyturnInProcess([...args, '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const word of words) expect(stdout).toMatch(new RegExp(`^ {2}${word}\\b`, 'm'))
  })
})

describe('keyturn master-key generate', () => {
  it('prints one key that the configuration takes, another one each time', async () => {
    const printed = await Promise.all([
      runKeyturnInProcess(['master-key', 'generate']),
      runKeyturnInProcess(['master-key', 'generate']),
    ])
    const keys = printed.map(({ code, stdout, stderr }) => {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^[^\n]+\n$/)
      return parseMasterKeys(stdout.trim())[0]
    })
    expect(keys[0]!.id).not.toBe(keys[1]!.id)
    expect(keys[0]!.key.equals(keys[1]!.key)).toBe(false)
  })
})
