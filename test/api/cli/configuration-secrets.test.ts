import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { eventually } from '../../support/eventually.ts'
import {
  collect,
  requestToken,
  runKeyturnInProcess,
  spawnKeyturn,
  startKeyturnInProcess,
} from '../../support/keyturn.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'
import { type Ended, openTerminal, type Terminal } from '../../support/terminal.ts'
import { writeProgram } from '../../support/write-program.ts'

let terminal: Terminal
let folder: string
let bin: string
const database = { KEYTURN_MASTER_KEYS: generateMasterKey(), KEYTURN_DATABASE_URL: '' }
beforeAll(async () => {
  database.KEYTURN_DATABASE_URL = await newPostgresDatabase()
  terminal = await openTerminal({ env: database })
  bin = join(terminal.server.dataDir, 'bin')
})
afterAll(() => terminal?.close())

/** A user and a folder of its own for each test. */
let user: string
let count = 0
beforeEach(async () => {
  count += 1
  user = `user-${count}`
  folder = join(terminal.server.dataDir, user)
  await mkdir(folder)
})

const SECRET = /ktn_cs_[\w-]+/

async function run(...args: string[]): Promise<Ended> {
  const env = { KEYTURN_DATA_DIR: terminal.server.dataDir, PATH: `${bin}:${process.env.PATH}`, STORE: folder }
  return await runKeyturnInProcess(args, env)
}

/** Writes the file of a configuration with the user, whose secret goes somewhere. */
async function configuration(into: string): Promise<string> {
  const path = join(folder, 'shop.yaml')
  const text = ['projects:', '  - name: shop', 'serviceUsers:', '  - project: shop', `    name: ${user}`]
  await writeFile(path, [...text, '    generateSecret:', `      into: ${into}`].join('\n'))
  return path
}

const apply = (path: string, ...args: string[]) => run('apply', '-f', path, ...args)

interface Secret {
  readonly secretId: string
  readonly lastUseDate?: string
}

async function secrets(): Promise<readonly Secret[]> {
  return (await terminal.json<{ secrets?: Secret[] }>('secrets', 'list', `${user}@shop`)).secrets ?? []
}

/** Gets a token with what was handed over. */
async function works(credentials: { client_id: string; client_secret: string }): Promise<boolean> {
  const { token_endpoint, base_url } = await terminal.server.admin()
  return (await requestToken({ token_endpoint, base_url, ...credentials }, 'openid')) !== ''
}

describe('a client secret into a file', () => {
  it('is a credentials file for its owner only, and is handed over once', async () => {
    const target = join(folder, 'checkout.json')
    const path = await configuration(`file://${target}`)
    expect((await run('plan', '-f', path)).stdout).toContain(`+ client secret of ${user}@shop, into file://${target}\n`)
    expect((await run('plan', '-f', path)).stdout).toContain('client secrets to hand over: 1')
    const { code, stdout, stderr } = await apply(path)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`handed over a client secret of ${user}@shop (secret id `)
    const text = await readFile(target, 'utf8')
    const credentials = JSON.parse(text)
    expect(Object.keys(credentials)).toEqual(['base_url', 'token_endpoint', 'client_id', 'client_secret'])
    expect((await stat(target)).mode & 0o777).toBe(0o600)
    expect(await works(credentials)).toBe(true)
    expect(await terminal.run('token', '--credentials', target)).toMatchObject({ code: 0 })
    expect(`${stdout}${stderr}`).not.toMatch(SECRET)
    expect(await readdir(folder)).toEqual(['checkout.json', 'shop.yaml'])

    expect(await apply(path)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^no difference/), stderr: '' })
    expect((await run('plan', '--detailed-exitcode', '-f', path)).code).toBe(0)
    expect(await secrets()).toHaveLength(1)
    expect(await readFile(target, 'utf8')).toBe(text)
  })

  it('replaces no file, and then nothing is changed', async () => {
    const target = join(folder, 'there.json')
    await writeFile(target, 'mine')
    const path = await configuration(`file://${target}`)
    expect(await apply(path)).toMatchObject({
      code: 1,
      stderr:
        'keyturn: the configuration has a mistake, and nothing was changed\n' +
        `${path}:7:13: serviceUsers[0].generateSecret.into: file://${target}: there is something already, which is not replaced: remove it to get a new secret\n`,
    })
    expect(await readFile(target, 'utf8')).toBe('mine')
    expect(await terminal.lines('users', 'list')).not.toContainEqual(expect.stringContaining(`${user} `))
  })
})

describe('a client secret into a command', () => {
  it('is on its standard input as JSON, and never an argument or a variable', async () => {
    const program = writeProgram(
      bin,
      'keep',
      'cat > "$STORE/$1"; tr "\\0" " " < /proc/$$/cmdline > "$STORE/calls"; env >> "$STORE/calls"',
    )
    const path = await configuration(`"command:${program} kept.json"`)
    const { code, stdout, stderr } = await apply(path)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const credentials = JSON.parse(await readFile(join(folder, 'kept.json'), 'utf8'))
    expect(await works(credentials)).toBe(true)
    expect((await readFile(join(folder, 'calls'), 'utf8')) + stdout).not.toContain(credentials.client_secret)
  })

  it('that fails gets its secret deleted again, and what it printed does not show it', async () => {
    const program = writeProgram(bin, 'fail', 'secret=$(cat); echo "cannot store $secret" >&2; echo "$secret"; exit 3')
    const path = await configuration(`command:${program}`)
    const { code, stdout, stderr } = await apply(path)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /was handed over into command:.*fail ended with exit code 3: cannot store .*"client_secret":"\*\*\*".*; the secret was deleted again\n$/,
    )
    expect(stdout).toContain('applied: ')
    expect(stdout + stderr).not.toMatch(SECRET)
    expect(await secrets()).toEqual([])
    // The next one tries again.
    writeProgram(bin, 'fail', 'cat > /dev/null')
    expect(await apply(path)).toMatchObject({ code: 0, stdout: expect.stringContaining('handed over') })
    expect(await secrets()).toHaveLength(1)
  })
})

describe('a user that has a secret already', () => {
  it('gets none if it was used, and another one if nothing says that it arrived', async () => {
    const path = await configuration(`file://${folder}/late.json`)
    await terminal.run('projects', 'create', 'shop')
    await terminal.lines('users', 'create', user, '--project', 'shop')
    const generated = await terminal.json<{ clientId: string; clientSecret: string; secret: Secret }>(
      'secrets',
      'generate',
      `${user}@shop`,
    )
    const unused = await run('plan', '-f', path)
    expect(unused.stdout).toContain('client secrets to hand over: 1')
    expect(unused.stderr).toBe(
      `warning: ${user}@shop has a client secret that was never used and is not at its target, as an interrupted apply leaves it. ` +
        `It gets another one; delete this one with "keyturn secrets delete": ${generated.secret.secretId}\n`,
    )
    // A replica writes down the last uses when it stops.
    const replica = await startKeyturnInProcess({ env: database })
    const { clientId: client_id, clientSecret: client_secret } = generated
    const token_endpoint = `${replica.listenUrl}/oauth/v2/token`
    await requestToken({ token_endpoint, base_url: '', client_id, client_secret }, 'openid')
    await replica.stop()
    const used = await run('plan', '-f', path)
    expect(used).toMatchObject({ code: 0, stdout: expect.stringMatching(/^no difference|gets the label/), stderr: '' })
    expect(used.stdout).not.toContain('secret')
  })
})

describe('an apply that is interrupted while it hands over', () => {
  it('says what was applied, and for whom it is not known', async () => {
    const program = writeProgram(bin, 'slow', 'cat > /dev/null; touch "$STORE/started"; exec sleep 5')
    const path = await configuration(`command:${program}`)
    const child = spawnKeyturn(['apply', '-f', path], { KEYTURN_DATA_DIR: terminal.server.dataDir, STORE: folder })
    const output = collect(child)
    await eventually(() => stat(join(folder, 'started')))
    child.kill('SIGINT')
    const [code] = await once(child, 'exit')
    expect(code).toBe(130)
    expect(output.stderr).toMatch(
      new RegExp(
        `interrupted by SIGINT: the configuration was applied \\(version \\d+\\); client secrets not known whether handed over: ` +
          `${user}@shop\\. Apply it again for those that are missing`,
      ),
    )
  })
})
