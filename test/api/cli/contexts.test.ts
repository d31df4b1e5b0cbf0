import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type AdminCredentials, removeFolder, runKeyturnInProcess, temporaryFolder } from '../../support/keyturn.ts'
import { openTerminal, refuses, rejects, says, type Terminal } from '../../support/terminal.ts'

let terminal: Terminal
let admin: AdminCredentials
let personalAccessToken: string
let home: string
let elsewhere: string
beforeAll(async () => {
  terminal = await openTerminal()
  admin = await terminal.server.admin()
  const created = await terminal.json<{ token: string }>(
    ...['users', 'tokens', 'create', admin.client_id, '--expires', '1h'],
  )
  personalAccessToken = created.token
  home = await temporaryFolder()
  elsewhere = await temporaryFolder()
})
afterAll(async () => {
  await terminal?.close()
  await removeFolder(home)
  await removeFolder(elsewhere)
})
beforeEach(() => rm(join(home, '.config'), { recursive: true, force: true }))

type Input = Parameters<typeof runKeyturnInProcess>[2]

/** Runs a command of a user with a home folder, who has nothing else. */
const keyturn = (args: readonly string[], input?: Input, env: Readonly<Record<string, string>> = {}) =>
  runKeyturnInProcess(args, { HOME: home, ...env }, input)

const stored = async () => JSON.parse(await readFile(join(home, '.config/keyturn/contexts.json'), 'utf8'))

/** What a command of a user with contexts does about the keys. */
const codeOfList = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  (await keyturn(['keys', 'list', ...args], undefined, env)).code

const nameOfServer = () => new URL(admin.base_url).host.replace(':', '-')
const login = (...args: string[]) =>
  keyturn(['login', '--credentials', join(terminal.server.dataDir, 'admin.json'), ...args])

describe('keyturn login', () => {
  it('stores the credentials of a file as a context, readable by the owner only, and uses it', async () => {
    const name = nameOfServer()
    expect(await login()).toEqual(
      says(`logged in to ${admin.base_url} with ${admin.client_id}; the context ${name} is in use`),
    )
    expect(await stored()).toEqual({ current: name, contexts: { [name]: admin } })
    const folder = join(home, '.config/keyturn')
    const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)
    expect(await Promise.all([join(folder, 'contexts.json'), folder].map(modeOf))).toEqual(['600', '700'])
    expect(await readdir(folder)).toEqual(['contexts.json'])
    expect(await codeOfList([])).toBe(0)
  })

  it('asks for client ID and secret at a terminal, and does not show the secret', async () => {
    const { code, stdout, stderr } = await keyturn(['login', admin.base_url, '--name', 'prod'], {
      typed: [admin.client_id, admin.client_secret],
    })
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `logged in to ${admin.base_url} with ${admin.client_id}; the context prod is in use\n`,
      stderr: 'Client ID: Client secret: \n',
    })
    expect(await codeOfList([])).toBe(0)
  })

  it('takes a personal access token, with which the API can be called and no access token be had', async () => {
    const args = ['login', admin.base_url, '--with-token', '--name', 'pat']
    expect(await keyturn(args, { piped: personalAccessToken })).toEqual(
      says(`logged in to ${admin.base_url} with a personal access token; the context pat is in use`),
    )
    expect(await codeOfList([])).toBe(0)
    expect(await keyturn(['token'])).toEqual(
      refuses(
        'no token: a personal access token calls the API itself, and gets no access tokens: name client credentials with ' +
          '--credentials or --context',
      ),
    )
  })

  it('stores nothing that does not work, and keeps what is there', async () => {
    await login('--name', 'prod')
    const before = await stored()
    const wrong = await keyturn(['login', admin.base_url, '--client-id', admin.client_id, '--name', 'prod'], {
      piped: 'wrong-secret',
    })
    expect(wrong).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^keyturn: no token: invalid_client: /),
    })
    const token = await keyturn(['login', admin.base_url, '--with-token', '--name', 'pat'], { piped: 'ktn_pat_wrong' })
    expect(token).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/\(TOKEN_INVALID\)\n$/) })
    for (const { stderr } of [wrong, token]) expect(stderr).not.toMatch(/wrong-secret|ktn_pat_wrong/)
    expect(await stored()).toEqual(before)
  })

  it('wants the base URL of the server, as its metadata has it, and no other', async () => {
    expect(await keyturn(['login'])).toEqual(
      rejects('name the base URL of the server, or a credentials file with --credentials'),
    )
    expect(await keyturn(['login', 'http://example.com'])).toEqual(
      rejects(
        "command-argument value 'http://example.com' is invalid for argument 'url'. It must be https, because clients " +
          'send their secrets to it; http is allowed for loopback addresses only.',
      ),
    )
    const alias = admin.base_url.replace('localhost', '127.0.0.1')
    expect(await keyturn(['login', alias, '--client-id', admin.client_id], { piped: 'x' })).toEqual(
      refuses(`the base URL of the server at ${alias} is ${admin.base_url}: use that address`),
    )
  })
})

describe('keyturn context', () => {
  it('lists contexts without their secrets, and marks the one in use', async () => {
    await login('--name', 'prod')
    await keyturn(['login', admin.base_url, '--with-token', '--name', 'pat'], { piped: personalAccessToken })
    const { code, stdout } = await keyturn(['context', 'list'])
    expect(code).toBe(0)
    expect(stdout.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
      ' NAME SERVER USER',
      ` prod ${admin.base_url} ${admin.client_id}`,
      `* pat ${admin.base_url} personal access token`,
      '',
    ])
    expect(JSON.parse((await keyturn(['context', 'list', '--json'])).stdout)).toEqual({
      contexts: [
        { name: 'prod', inUse: false, baseUrl: admin.base_url, clientId: admin.client_id },
        { name: 'pat', inUse: true, baseUrl: admin.base_url, personalAccessToken: true },
      ],
    })
  })

  it('chooses one for the commands that follow', async () => {
    await login('--name', 'first')
    await login('--name', 'second')
    expect(await keyturn(['context', 'use', 'first'])).toEqual(says(`first is in use: commands call ${admin.base_url}`))
    expect((await keyturn(['context', 'list'])).stdout).toMatch(/^\* +first /m)
    expect(await keyturn(['context', 'use', 'third'])).toEqual(
      refuses('there is no context "third": "keyturn context list" prints those that exist, "keyturn login" makes one'),
    )
  })
})

describe('the server and the caller of a command', () => {
  it('are those of an option, then of a variable, then of the context in use', async () => {
    const { dataDir } = terminal.server
    const good = join(dataDir, 'admin.json')
    const spoilt = join(home, 'spoilt.json')
    await writeFile(spoilt, JSON.stringify({ ...admin, client_secret: 'wrong' }))
    await login('--name', 'good')
    const { current, contexts } = await stored()
    const both = { ...contexts, spoilt: { ...admin, client_secret: 'wrong' } }
    const write = (used: unknown) =>
      writeFile(join(home, '.config/keyturn/contexts.json'), JSON.stringify({ current: used, contexts: both }))
    await write('gone')
    expect(await keyturn(['keys', 'list'])).toMatchObject({ stderr: expect.stringContaining('no context "gone"') })
    await write(current)
    const KEYTURN_TOKEN = personalAccessToken
    expect({
      current: await codeOfList([]),
      context: await codeOfList(['--context', 'spoilt']),
      credentials: await codeOfList(['--credentials', good], { KEYTURN_CONTEXT: 'spoilt', KEYTURN_TOKEN: 'wrong' }),
      token: await codeOfList([], { KEYTURN_TOKEN, KEYTURN_BASE_URL: admin.base_url, KEYTURN_CONTEXT: 'spoilt' }),
      contextVariable: await codeOfList([], { KEYTURN_CONTEXT: 'good', KEYTURN_CREDENTIALS: spoilt }),
      credentialsVariable: await codeOfList([], { KEYTURN_CREDENTIALS: spoilt }),
      dataDirectory: await codeOfList([], { KEYTURN_DATA_DIR: home }),
    }).toEqual({
      current: 0,
      context: 1,
      credentials: 0,
      token: 0,
      contextVariable: 0,
      credentialsVariable: 1,
      dataDirectory: 1,
    })
    expect(await keyturn(['keys', 'list', '--context', 'good', '--credentials', good])).toEqual(
      rejects("option '--credentials <file>' cannot be used with option '--context <name>'"),
    )
    await rm(spoilt)
  })

  it('can be KEYTURN_TOKEN and KEYTURN_BASE_URL alone', async () => {
    const env = { KEYTURN_TOKEN: personalAccessToken, KEYTURN_BASE_URL: admin.base_url }
    expect((await runKeyturnInProcess(['keys', 'list'], env)).code).toBe(0)
    expect(await runKeyturnInProcess(['keys', 'list'], { ...env, KEYTURN_TOKEN: 'wrong' })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/\(TOKEN_INVALID\)\n$/),
    })
    const out = join(home, 'new.json')
    const generate = ['secrets', 'generate', admin.client_id, '--expires', '1h', '--out', out]
    expect((await runKeyturnInProcess(generate, env)).code).toBe(0)
    expect(JSON.parse(await readFile(out, 'utf8'))).toMatchObject({ token_endpoint: admin.token_endpoint })
    await rm(out)
  })

  it('are never KEYTURN_TOKEN and an address that stands in a file', async () => {
    const { dataDir } = terminal.server
    await login('--name', 'good')
    for (const env of [{}, { KEYTURN_CONTEXT: 'good' }, { KEYTURN_DATA_DIR: dataDir }, { KEYTURN_BASE_URL: '' }]) {
      expect(await keyturn(['keys', 'list'], undefined, { ...env, KEYTURN_TOKEN: personalAccessToken })).toEqual(
        refuses('KEYTURN_TOKEN is sent to the address in KEYTURN_BASE_URL and to no other: set KEYTURN_BASE_URL'),
      )
    }
  })
})
