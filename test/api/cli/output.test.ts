import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { runKeyturnInProcess } from '../../support/keyturn.ts'
import { openTerminal, type Terminal } from '../../support/terminal.ts'

let terminal: Terminal
beforeAll(async () => {
  terminal = await openTerminal()
})
afterAll(() => terminal?.close())

const keyturn = (...args: string[]) => terminal.run(...args)

/** Runs a command at a terminal that shows colours, unless a variable says otherwise. */
const atTerminal = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runKeyturnInProcess(
    args,
    { KEYTURN_DATA_DIR: terminal.server.dataDir, ...env },
    { typed: [], terminals: { stdout: true, stderr: true } },
  )

const BOLD = '\u001b[1m'
const RED = '\u001b[31m'
const PLAIN = '\u001b[39m'

describe('--output', () => {
  it.each([
    [['keys', 'list']],
    [['projects', 'roles', 'list', 'keyturn']],
    [['audit', '--resource', 'projects/none']],
    [['config', '--data-dir', '/nowhere']],
  ])('of %j is a table, JSON or YAML, and --json is short for JSON', async (args) => {
    const json = await keyturn(...args, '--json')
    expect(json).toMatchObject({ code: 0, stderr: '' })
    expect(await keyturn(...args, '--output', 'json')).toEqual(json)
    const yaml = await keyturn(...args, '--output=yaml')
    expect(yaml).toMatchObject({ code: 0, stderr: '' })
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout))
    expect(await keyturn(...args, '--output', 'table')).toEqual(await keyturn(...args))
  })
})

describe('an error, with --json', () => {
  const errorOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await keyturn(...args)
    expect(stdout).toBe('')
    expect(stderr.split('\n')).toHaveLength(2)
    return { code, ...JSON.parse(stderr) }
  }

  it('is a line of JSON: of the API with its reason, of usage, of the configuration, of the connection', async () => {
    expect(await errorOf('keys', 'delete', 'none', '--json')).toEqual({
      code: 1,
      error: {
        message: 'there is no web key "none"',
        code: 'not_found',
        reason: 'WEB_KEY_NOT_FOUND',
        metadata: { key_id: 'none' },
      },
    })
    expect(await errorOf('keys', 'delete', '--output', 'json')).toEqual({
      code: 2,
      error: { message: "missing required argument 'key-id'", code: 'usage' },
    })
    expect(await errorOf('config', '--listen', 'nonsense', '--json')).toEqual({
      code: 2,
      error: { message: expect.stringContaining('KEYTURN_LISTEN: must be host:port'), code: 'configuration' },
    })
    expect(await errorOf('users', 'show', 'nobody@keyturn', '--json')).toMatchObject({
      code: 1,
      error: { message: expect.stringMatching(/^there is no service user "nobody"/), code: 'failed' },
    })
    const env = { KEYTURN_TOKEN: 'x', KEYTURN_BASE_URL: 'http://127.0.0.1:1' }
    const unreachable = await runKeyturnInProcess(['keys', 'list', '--json'], env)
    expect(JSON.parse(unreachable.stderr)).toMatchObject({
      error: { message: expect.stringMatching(/^cannot reach http:\/\/127\.0\.0\.1:1 \(ECONN/), code: 'connection' },
    })
  })
})

describe('colours', () => {
  it('are those of headings, warnings and errors, at a terminal only', async () => {
    const table = await atTerminal(['keys', 'list'])
    expect(table.stdout.startsWith(`${BOLD}KEY ID`)).toBe(true)
    expect((await atTerminal(['keys', '--help'])).stdout).toContain(`${BOLD}Usage:`)
    expect((await atTerminal(['keys', 'activate', 'none'])).stderr).toContain(`${RED}keyturn:${PLAIN} there`)
    expect((await atTerminal(['keys', 'activate'])).stderr).toContain(`${RED}error:${PLAIN} missing`)

    for (const args of [
      ['keys', 'list'],
      ['keys', '--help'],
      ['keys', 'activate', 'none'],
      ['keys', 'activate'],
    ]) {
      const { stdout, stderr } = await keyturn(...args)
      expect(`${stdout}${stderr}`).not.toContain('\u001b')
    }
  })
})

describe('--version', () => {
  it('prints the version', async () => {
    const { default: manifest } = await import('../../../package.json', { with: { type: 'json' } })
    expect(await keyturn('--version')).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
  })
})
