/**
 * `keyturn apply` interrupted: it says what is known, and ends with the exit code of the signal.
 */
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type HeldProgram, holdIn, writeProgram } from '../../support/held-program.ts'
import { type HoldingFront, startFront } from '../../support/holding-front.ts'
import { runKeyturnInProcess, spawnKeyturn } from '../../support/keyturn.ts'
import { type Ended, openTerminal, type Terminal } from '../../support/terminal.ts'

let terminal: Terminal
let front: HoldingFront
let folder: string
let credentials: string
let env: Record<string, string>
let store: HeldProgram & { readonly hold: string }
let program: string
beforeAll(async () => {
  terminal = await openTerminal()
  front = await startFront(terminal.server.listenUrl)
  folder = join(terminal.server.dataDir, 'files')
  await mkdir(folder)
  credentials = join(folder, 'admin.json')
  await writeFile(credentials, JSON.stringify({ ...(await terminal.server.admin()), base_url: front.baseUrl }))
  const bin = join(folder, 'bin')
  store = holdIn(bin, 'store')
  program = writeProgram(bin, 'store', `cat > /dev/null; ${store.hold}; exit 1`)
  env = { KEYTURN_DATA_DIR: terminal.server.dataDir }
})
afterAll(async () => {
  await front?.close()
  await terminal?.close()
})

async function file(name: string, users: Readonly<Record<string, string>> = {}): Promise<string> {
  const serviceUsers = Object.entries(users).map(([user, into]) => ({
    project: name,
    name: user,
    generateSecret: { into },
  }))
  const path = join(folder, `${name}.yaml`)
  await writeFile(path, JSON.stringify({ projects: [{ name }], serviceUsers }))
  return path
}

/** Starts an apply, and sends it a signal when `moment` has come. */
async function interruptedAt(
  moment: Promise<void>,
  path: string,
  { signal = 'SIGINT', args = [] }: { signal?: 'SIGINT' | 'SIGTERM'; args?: string[] } = {},
): Promise<Ended & { readonly endedBy: string | null }> {
  const child = spawnKeyturn(['apply', '-f', path, '--credentials', credentials, ...args], env)
  const printed = Promise.all([text(child.stdout!), text(child.stderr!)])
  const exited = once(child, 'exit')
  await moment
  child.kill(signal)
  const [code, endedBy] = await exited
  const [stdout, stderr] = await printed
  return { code, endedBy, stdout, stderr }
}

const interrupted = (message: string, signal = 'SIGINT') => ({
  code: signal === 'SIGINT' ? 130 : 143,
  endedBy: null,
  stderr: `keyturn: interrupted by ${signal}: ${message}\n`,
})

describe('an apply that is interrupted', () => {
  it('before it has sent anything says that nothing was applied', async () => {
    const held = front.hold({ method: 'PlanConfiguration', when: 'after' })
    expect(await interruptedAt(held, await file('planned'))).toMatchObject(interrupted('nothing was applied'))
  })

  it.each(['before', 'after'] as const)(
    'when its call is held %s it is handled says that it does not know',
    async (when) => {
      const held = front.hold({ method: 'ApplyConfiguration', when })
      expect(await interruptedAt(held, await file(`sent-${when}`), { signal: 'SIGTERM' })).toMatchObject(
        interrupted(
          'it is not known whether the configuration was applied, all of it or nothing: "npx keyturn plan" shows what is left',
          'SIGTERM',
        ),
      )
    },
  )

  it('while secrets are handed over says which were', async () => {
    const path = await file('handing', {
      first: `file://${folder}/first.json`,
      second: `command:${program}`,
      third: `file://${folder}/third.json`,
    })
    // No call is held.
    void front.hold({ method: 'None', when: 'before' })
    const { stdout, ...ended } = await interruptedAt(store.waits(), path)
    expect(stdout).toMatch(/^applied: 4 created, 0 changed, 0 deleted \(version \d+\)$/m)
    const version = /applied: .*\(version (\d+)\)/.exec(stdout)?.[1]
    expect(ended).toMatchObject(
      interrupted(
        `the configuration was applied (version ${version}); client secrets handed over: first@handing; not known whether handed over: ` +
          'second@handing; not handed over: third@handing. Apply it again for those that are missing',
      ),
    )
    await store.release()
  })

  it('is an error for programs too', async () => {
    const path = await file('programs', { only: `file://${folder}/only.json` })
    const held = front.hold({ method: 'GenerateClientSecret', when: 'before' })
    const { stdout, stderr, code } = await interruptedAt(held, path, { args: ['--json'] })
    expect({ stdout, code }).toEqual({ stdout: '', code: 130 })
    expect(JSON.parse(stderr)).toEqual({
      error: {
        message: expect.stringMatching(
          /^interrupted by SIGINT: the configuration was applied .*: only@programs\. Apply it again/,
        ),
        code: 'interrupted',
      },
    })
    expect(await runKeyturnInProcess(['apply', '-f', path], env)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('handed over a client secret of only@programs'),
    })
  })
})
