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
})
