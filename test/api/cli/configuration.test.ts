import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { runKeyturnInProcess } from '../../support/keyturn.ts'
import { openTerminal, refuses, rejects, type Terminal } from '../../support/terminal.ts'

let terminal: Terminal
let folder: string
beforeAll(async () => {
  terminal = await openTerminal()
  folder = join(terminal.server.dataDir, 'files')
  await mkdir(folder)
})
afterAll(() => terminal?.close())

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

const run = (...args: string[]) => terminal.run(...args)

/** Runs a command that must succeed and print nothing on standard error. */
async function stdoutOf(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

/** With the version of the instance left out. */
const withoutVersion = (text: string) =>
  text
    .replaceAll(/version \d+/g, 'version N')
    .trimEnd()
    .split('\n')

const item = (fields: string) => fields.replaceAll(/^(?=.)/gm, '    ')
const project = (name: string, fields = '') => `projects:\n  - name: ${name}\n${item(fields)}`
const user = (name: string, fields = '') => `---\nserviceUsers:\n  - project: shop\n    name: ${name}\n${item(fields)}`

const SHOP = `${project('shop', 'roles: [admin, reader]\nscopes: [orders.write]\n')}${user(
  'checkout',
  'projectRoles: [{ project: shop, roles: [admin] }]\nscopes: [orders.write]\ntokenLifetime: 300s\n',
)}`

describe('keyturn plan and keyturn apply', () => {
  it('show the difference and make it go away, once', async () => {
    const path = await file('shop.yaml', SHOP)
    const created = [
      '+ project shop',
      '    + roles: admin',
      '    + roles: reader',
      '    + scopes: orders.write',
      '+ service user checkout@shop',
      '    + tokenLifetime: 300s',
      '    + projectRoles.shop: admin',
      '    + scopes: orders.write',
      '2 to create, 0 to change, 0 to delete (version N of the instance)',
    ]
    expect(withoutVersion(await stdoutOf('plan', '-f', path))).toEqual(created)
    expect(withoutVersion(await stdoutOf('apply', '-f', path))).toEqual([
      ...created,
      'applied: 2 created, 0 changed, 0 deleted (version N)',
    ])
    const before = await stdoutOf('plan', '-f', path)
    expect(withoutVersion(before)).toEqual(['no difference (version N of the instance)'])
    expect(await stdoutOf('apply', '-f', path)).toBe(before)
    expect(await stdoutOf('plan', '-f', path)).toBe(before)
    expect(await terminal.lines('users', 'list', '--project', 'shop')).toHaveLength(2)
  })

  it('name what is changed, field by field', async () => {
    const changed = SHOP.replace('300s', '600s').replace('shop, roles: [admin]', 'shop, roles: [reader]')
    const path = await file('shop.yaml', changed)
    expect(withoutVersion(await stdoutOf('plan', '-f', path))).toEqual([
      '~ service user checkout@shop',
      '    ~ tokenLifetime: 300s -> 600s',
      '    - projectRoles.shop: admin',
      '    + projectRoles.shop: reader',
      '0 to create, 1 to change, 0 to delete (version N of the instance)',
    ])
    await stdoutOf('apply', '-f', path)
  })

  it('exit as Terraform does with --detailed-exitcode: 0 without a difference, 2 with one, 1 after an error', async () => {
    const plan = ['plan', '--detailed-exitcode', '-f']
    const codeOf = async (text: string) => (await run(...plan, await file('codes.yaml', text))).code
    expect(await codeOf(SHOP)).toBe(2)
    await stdoutOf('apply', '-f', await file('codes.yaml', SHOP))
    expect(await codeOf(SHOP)).toBe(0)
    expect(await codeOf('things: []\n')).toBe(1)
    expect((await run('plan', '--detailed-exitcode')).code).toBe(1)
    expect((await run(...plan, join(folder, 'missing.yaml'))).code).toBe(1)
    expect(await run('plan')).toEqual(rejects("required option '-f, --file <file>' not specified"))
  })

  it('let no name in a plan control the terminal', async () => {
    await stdoutOf('apply', '-f', await file('names.yaml', `${SHOP}${user('"a\\u001b[31mb"')}`))
    const text = await stdoutOf('plan', '--prune', '-f', await file('names.yaml', SHOP))
    expect(text).toContain('- service user a\\u001b[31mb@shop\n')
    expect(text).not.toContain('\u001b')
  })

  it('read folders in the order of names, several paths, and standard input', async () => {
    const nested = join(folder, 'nested')
    await mkdir(nested)
    await writeFile(join(nested, '2.yaml'), user('second').slice(4))
    await writeFile(
      join(nested, '1.json'),
      '{"projects": [{"name": "shop", "roles": ["admin", "reader"], "scopes": ["orders.write"]}]}',
    )
    await writeFile(join(nested, 'README.md'), 'This is none.')
    const more = await file('more.yml', user('third').slice(4))
    const env = { KEYTURN_DATA_DIR: terminal.server.dataDir }
    const piped = user('fourth').slice(4)
    const { stdout, code } = await runKeyturnInProcess(['plan', '-f', nested, '-f', more, '-f', '-'], env, { piped })
    expect(code).toBe(0)
    expect(stdout.split('\n').filter((line) => line.startsWith('+'))).toEqual(
      ['second', 'third', 'fourth'].map((name) => `+ service user ${name}@shop`),
    )
    expect(await run('plan', '-f', join(folder, 'none.yaml'))).toEqual(
      refuses(`cannot read ${join(folder, 'none.yaml')} (ENOENT)`),
    )
    const empty = join(folder, 'empty')
    await mkdir(empty)
    expect(await run('plan', '-f', empty)).toEqual(refuses(`${empty} has no file *.yaml, *.yml or *.json`))
  })
})

describe('a configuration with mistakes', () => {
  it('is refused with all that the files show, before anything is sent', async () => {
    const path = await file('wrong.yaml', `${project('5', 'role: [a]\n')}${user('x', 'tokenLifetime: 5\n')}`)
    const stopped = { KEYTURN_TOKEN: 'none', KEYTURN_BASE_URL: 'http://127.0.0.1:1' }
    expect(await runKeyturnInProcess(['apply', '-f', path], stopped)).toEqual(
      refuses(
        [
          'the configuration has 3 mistakes, and nothing was changed',
          `${path}:2:11: projects[0].name: it must be a string: put it in quotes`,
          `${path}:3:5: projects[0].role: there is no such field`,
          `${path}:8:20: serviceUsers[0].tokenLifetime: it must be a length of time in seconds, such as 300s`,
        ].join('\n'),
      ),
    )
  })

  it('is refused with all that the server finds, at their places in the files', async () => {
    const first = await file('first.yaml', project('shop', 'scopes: [openid]\n'))
    const second = await file(
      'second.yaml',
      [
        user(
          'one',
          'projectRoles:\n  - { project: shop, roles: [missing] }\n  - { project: nowhere, roles: [admin] }\n',
        ).slice(4),
        user(
          'two',
          'publicKeys:\n  - { publicJwk: "{\\"kty\\":\\"OKP\\",\\"crv\\":\\"Ed25519\\",\\"x\\":\\"short\\"}" }\n',
        ),
        user('three', 'federatedIdentities:\n  - {issuer: https://unknown.example, subject: a}\n'),
      ].join(''),
    )
    const { code, stderr } = await run('apply', '-f', first, '-f', second)
    expect(code).toBe(1)
    const lines = stderr.trimEnd().split('\n').slice(1)
    expect(lines.map((line) => /^(\S+:\d+:\d+: \S+): \S/.exec(line)?.[1])).toEqual([
      `${first}:3:14: projects[0].scopes[0]`,
      `${second}:5:34: serviceUsers[0].projectRoles[0].roles[0]`,
      `${second}:6:20: serviceUsers[0].projectRoles[1].project`,
      `${second}:12:22: serviceUsers[0].publicKeys[0].publicJwk`,
      `${second}:18:18: serviceUsers[0].federatedIdentities[0].issuer`,
    ])
  })
})

describe('confirming', () => {
  const atTerminal = (typed: string[], ...args: string[]) =>
    runKeyturnInProcess(args, { KEYTURN_DATA_DIR: terminal.server.dataDir }, { typed })

  it('is asked for at a terminal, after the plan', async () => {
    const path = await file('confirmed.yaml', project('confirmed'))
    expect(await atTerminal(['n'], 'apply', '-f', path)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^\+ project confirmed\n1 to create, .*\n$/),
      stderr: expect.stringMatching(/Apply this\? \[y\/N\] .*nothing was changed\n$/s),
    })
    expect(await atTerminal([], 'apply', '--yes', '-f', path)).toMatchObject({ code: 0, stderr: '' })
    // Without a difference there is no question.
    expect(await atTerminal([], 'apply', '-f', path)).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('a change after the plan was made', () => {
  it('is not overwritten, and the command says so', async () => {
    const path = await file('raced.yaml', `${SHOP}${user('raced')}`)
    const front = createServer(async (incoming, outgoing) => {
      const { authorization = '', 'content-type': type = '' } = incoming.headers
      const sent = { method: 'POST', headers: { authorization, 'content-type': type }, body: await buffer(incoming) }
      const response = await fetch(`${terminal.server.listenUrl}${incoming.url}`, sent)
      if (incoming.url?.endsWith('/PlanConfiguration')) await terminal.lines('projects', 'create', 'meanwhile')
      outgoing.writeHead(response.status, { 'content-type': 'application/json' })
      outgoing.end(Buffer.from(await response.arrayBuffer()))
    })
    await once(front.listen(0, '127.0.0.1'), 'listening')
    const base_url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
    const credentials = await file('front.json', JSON.stringify({ ...(await terminal.server.admin()), base_url }))
    expect(await run('apply', '--credentials', credentials, '-f', path)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^keyturn: the plan was made on version .*: plan again \(CONFIGURATION_CHANGED\)\n$/,
      ),
    })
    expect(await stdoutOf('plan', '-f', path)).toContain('+ service user raced@shop')
    front.closeAllConnections()
    front.close()
  })
})

describe('keyturn export', () => {
  it('prints what apply takes back without a difference, there and in another instance', async () => {
    const text = await stdoutOf('export')
    const exported = await file('exported.yaml', text)
    expect((await run('plan', '--detailed-exitcode', '--take-over', '-f', exported)).code).toBe(0)
    const json = await file('exported.json', await stdoutOf('export', '--json'))
    expect((await run('plan', '--detailed-exitcode', '--take-over', '-f', json)).code).toBe(0)
    const other = await openTerminal()
    try {
      expect(await other.run('apply', '-f', exported)).toMatchObject({ code: 0, stderr: '' })
      expect((await other.run('export')).stdout).toBe(text)
    } finally {
      await other.close()
    }
  })
})

describe('keyturn apply --schema', () => {
  it('prints the JSON schema of the package', async () => {
    const published = await readFile(join(import.meta.dirname, '../../../gen/configuration.schema.json'), 'utf8')
    expect(await stdoutOf('apply', '--schema')).toBe(published)
  })
})
