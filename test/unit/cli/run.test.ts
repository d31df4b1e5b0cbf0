import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Io } from '../../../src/cli/io.ts'
import { run } from '../../../src/cli/run.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyturn-run-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function keyturn(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  started: Pick<Io, 'program'> = {},
) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await run(argv, { ...started, stdout, stderr, env, isTerminal: false })
  stdout.end()
  stderr.end()
  return { code, stdout: await text(stdout), stderr: await text(stderr) }
}

describe('a command line that runs in this process', () => {
  it('takes its environment and its streams from its caller', async () => {
    const { code, stdout, stderr } = await keyturn(['config'], { KEYTURN_DATA_DIR: folder, KEYTURN_DRAIN_SECONDS: '7' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([`KEYTURN_DATA_DIR=${folder}`, 'KEYTURN_DRAIN_SECONDS=7']),
    )
    expect((await keyturn(['config'], { KEYTURN_DATA_DIR: folder })).stdout).toContain('KEYTURN_DRAIN_SECONDS=5')
  })

  it('reads the credentials file that its environment names', async () => {
    expect(await keyturn(['keys', 'list'], { KEYTURN_DATA_DIR: folder })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`cannot read the credentials file ${join(folder, 'admin.json')}`),
    })
  })

  it('returns the exit code of wrong usage, and of a request for help', async () => {
    expect(await keyturn(['frobnicate'])).toEqual({
      code: 2,
      stdout: '',
      stderr: "error: unknown command 'frobnicate'\nRun the command with --help to see what it takes.\n",
    })
    expect(await keyturn(['keys', 'list', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: keyturn keys list/),
      stderr: '',
    })
  })

  it('names commands in its messages as they are typed where it was started', async () => {
    const env = { KEYTURN_DATA_DIR: folder }
    // In a checkout, where the tests run.
    const started = { program: join(import.meta.dirname, '../../../src/cli/keyturn.js') }
    const writes = 'writes it when it starts on an empty database'
    expect((await keyturn(['keys', 'list'], env)).stderr).toContain(`"keyturn serve" ${writes}\n`)
    expect((await keyturn(['keys', 'list'], env, started)).stderr).toContain(`"npx keyturn serve" ${writes}\n`)
    const { stderr } = await keyturn(['keys', 'list', '--json'], env, started)
    expect(JSON.parse(stderr).error.message).toContain(`"npx keyturn serve" ${writes}`)
    const usage = await keyturn(['token', '--audience', 'shop'], env, started)
    expect(usage).toMatchObject({ code: 2, stderr: expect.stringContaining('"npx keyturn projects list" prints it') })
  })

  it('listens for no signals and leaves the exit code of its process alone', async () => {
    const listeners = () => ['SIGINT', 'SIGTERM'].map((signal) => process.listenerCount(signal))
    const before = listeners()
    await keyturn(['migrate'], { KEYTURN_DATABASE_URL: 'not a URL' })
    expect(listeners()).toEqual(before)
    expect(process.exitCode).toBeUndefined()
  })
})
