/**
 * `keyturn apply` killed with SIGKILL at each step, and run again: the end is the same, and the secret has arrived once.
 */
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type HeldProgram, holdIn, writeProgram } from '../../support/held-program.ts'
import { type HoldingFront, startFront } from '../../support/holding-front.ts'
import { runKeyturnInProcess, spawnKeyturn } from '../../support/keyturn.ts'
import { type Ended, openTerminal, type Terminal } from '../../support/terminal.ts'
import { requestToken } from '../../support/web-key-client.ts'

let terminal: Terminal
/** A server in front of the real one, which holds a call for ever. */
let front: HoldingFront
beforeAll(async () => {
  terminal = await openTerminal()
  front = await startFront(terminal.server.listenUrl)
})
afterAll(async () => {
  await front?.close()
  await terminal?.close()
})

let count = 0
let user: string
let folder: string
let bin: string
let env: Record<string, string>
let store: HeldProgram & { readonly hold: string }
beforeEach(async () => {
  count += 1
  user = `user-${count}`
  folder = join(terminal.server.dataDir, user)
  bin = join(folder, 'bin')
  await mkdir(folder)
  env = { KEYTURN_DATA_DIR: terminal.server.dataDir, STORE: folder }
  store = holdIn(bin, 'store')
})

async function writeConfiguration(into: string): Promise<string> {
  const path = join(folder, 'shop.yaml')
  await writeFile(
    path,
    JSON.stringify({
      projects: [{ name: 'shop' }],
      serviceUsers: [{ project: 'shop', name: user, generateSecret: { into } }],
    }),
  )
  return path
}

/** Starts an apply, and kills it when `moment` has come. */
async function killAt(path: string, moment: Promise<void>, throughFront: boolean): Promise<void> {
  const credentials = join(folder, 'admin.json')
  const admin = await terminal.server.admin()
  await writeFile(credentials, JSON.stringify(throughFront ? { ...admin, base_url: front.baseUrl } : admin))
  const child = spawnKeyturn(['apply', '-f', path, '--credentials', credentials], env)
  const closed = once(child, 'exit')
  await moment
  child.kill('SIGKILL')
  const [, signal] = await closed
  expect(signal).toBe('SIGKILL')
}

const apply = (path: string): Promise<Ended> => runKeyturnInProcess(['apply', '-f', path], env)

async function secretIds(): Promise<string[]> {
  const { secrets = [] } = await terminal.json<{ secrets?: { secretId: string }[] }>('secrets', 'list', `${user}@shop`)
  return secrets.map(({ secretId }) => secretId)
}

/** A second apply finds nothing to do, and what arrived works. */
async function expectArrived(path: string, credentials: { client_id: string; client_secret: string }): Promise<void> {
  expect(await apply(path)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^no difference/), stderr: '' })
  const { token_endpoint, base_url } = await terminal.server.admin()
  expect(await requestToken({ token_endpoint, base_url, ...credentials }, 'openid')).not.toBe('')
}

describe('an apply with a secret into a file, killed', () => {
  it.each([
    ['before anything is applied', { method: 'ApplyConfiguration', when: 'before' }, 0],
    ['when it is applied', { method: 'ApplyConfiguration', when: 'after' }, 0],
    ['before the secret is generated', { method: 'GenerateClientSecret', when: 'before' }, 0],
    ['when the secret is generated', { method: 'GenerateClientSecret', when: 'after' }, 1],
  ] as const)('%s, hands a secret over when it is run again', async (_, call, lost) => {
    const path = await writeConfiguration(`file://${folder}/secret.json`)
    await killAt(path, front.hold(call), true)
    const { code, stdout, stderr } = await apply(path)
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('handed over') })
    const ids = await secretIds()
    expect(ids).toHaveLength(lost + 1)
    // The one that was lost is named, so that it can be deleted.
    if (lost === 0) expect(stderr).toBe('')
    else expect(stderr).toMatch(new RegExp(`^warning: .* never used and is not at its target.*: ${ids[0]}\n$`))
    await expectArrived(path, JSON.parse(await readFile(join(folder, 'secret.json'), 'utf8')))
  })
})

describe('an apply with a secret into a command, killed', () => {
  it('while the command has the secret, says what a person has to decide', async () => {
    const program = writeProgram(bin, 'keep', `cat > /dev/null; ${store.hold}; exit 1`)
    const path = await writeConfiguration(`command:${program}`)
    await killAt(path, store.waits(), false)
    await store.release()
    writeProgram(bin, 'keep', 'cat > "$STORE/kept"')
    const [secretId = ''] = await secretIds()
    expect(await apply(path)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^no difference/),
      stderr:
        `warning: ${user}@shop has a client secret that was never used, and whether it was handed over cannot be known. ` +
        `If it was not, delete it with "keyturn secrets delete" and apply again: ${secretId}\n`,
    })
    await terminal.lines('secrets', 'delete', `${user}@shop`, secretId)
    expect(await apply(path)).toMatchObject({ code: 0, stdout: expect.stringContaining('handed over'), stderr: '' })
    expect(await secretIds()).toHaveLength(1)
  })
})
