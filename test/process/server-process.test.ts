/**
 * The server as a process: signals, exit codes and standard streams, one test each. What clients get while it stops is in
 * `test/api/graceful-shutdown.test.ts`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { collect, type KeyturnProcess, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { TLS_SETTINGS } from '../support/mtls-client.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import { askOnce, tokenRequestTo } from '../support/stopping-server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const ROOT = join(import.meta.dirname, '../..')

let server: KeyturnProcess | undefined
afterEach(async () => {
  await server?.kill()
  if (server !== undefined) await removeFolder(server.dataDir)
  server = undefined
})

async function start(env: Record<string, string> = {}): Promise<KeyturnProcess> {
  server = await startKeyturn({ env })
  return server
}

describe('SIGTERM', () => {
  it('ends a server with exit code 0 while PostgreSQL is away', async () => {
    const url = new URL(await newPostgresDatabase())
    const proxy = await startTcpProxy(Number(url.port))
    url.port = String(proxy.port)
    try {
      const running = await start({ KEYTURN_DATABASE_URL: url.href, KEYTURN_MASTER_KEYS: generateMasterKey() })
      await proxy.close()
      expect(await running.stop()).toBe(0)
    } finally {
      await proxy.close()
    }
  })

  it('lets a server drain, and ends it at once when it is sent twice', async () => {
    const running = await start({ KEYTURN_DRAIN_SECONDS: '300' })
    const exited = once(running.process, 'exit')
    running.process.kill('SIGTERM')
    await eventually(async () => expect((await fetch(`${running.listenUrl}/readyz`)).status).toBe(503))
    running.process.kill('SIGTERM')
    expect(await exited).toEqual([null, 'SIGTERM'])
  })
})

describe('a server that is interrupted at a terminal', () => {
  it('does not drain, and has printed only what a person needs to go on, and JSON lines on standard error', async () => {
    const running = await start({ KEYTURN_DRAIN_SECONDS: '300' })
    await askOnce(await tokenRequestTo(running))
    expect(await running.stop('SIGINT')).toBe(0)
    const { stdout, stderr } = running.output()
    expect(stdout.trimEnd().split('\n')).toEqual([
      `Keyturn listens on ${running.listenUrl} (base URL ${running.baseUrl}).`,
      expect.stringMatching(/^The administrator's credentials were written to .+\. Keep that file safe\.$/),
      expect.stringMatching(/^Next: (npx )?keyturn keys list --credentials .+$/),
    ])
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: 'info' })
  })
})

describe('a server with TLS of its own', () => {
  it('says how the command line comes to trust a private authority', async () => {
    const running = await start(TLS_SETTINGS)
    expect(await running.stop('SIGINT')).toBe(0)
    expect(running.output().stdout.trimEnd().split('\n').at(-1)).toBe(
      'If a private authority has issued the certificate of the server, add --ca with its file.',
    )
  })
})

describe('npm start', () => {
  it('passes SIGTERM on to the server, which ends with exit code 0', async () => {
    const dataDir = await temporaryFolder()
    const env = {
      ...withoutKeyturn(process.env),
      KEYTURN_DATA_DIR: dataDir,
      KEYTURN_DATABASE_URL: await newPostgresDatabase(),
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_LISTEN: '127.0.0.1:0',
      KEYTURN_METRICS_LISTEN: 'off',
      KEYTURN_DRAIN_SECONDS: '0',
    }
    const npm = spawn('npm', ['start'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    try {
      const output = collect(npm)
      const closed = once(npm, 'close')
      await eventually(() => expect(output.stdout).toContain('Keyturn listens on'))
      npm.kill('SIGTERM')
      expect(await closed).toEqual([0, null])
    } finally {
      killGroup(npm)
      await removeFolder(dataDir)
    }
  })
})

/** The environment without the variables of the tests, which a server refuses as unknown. */
function withoutKeyturn(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('KEYTURN_')))
}

/** Kills what is left of a process group. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // There is none left.
  }
}
