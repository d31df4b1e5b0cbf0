import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { collect, removeFolder, runKeyturn, spawnKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres, TEST_PASSWORD } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

let postgres: TestPostgres | undefined
let url: URL
let databasePort: number
let folder: string
let env: Record<string, string>
let listenUrl: string
let proxy: TcpProxy | undefined
let child: ReturnType<typeof spawnKeyturn> | undefined

beforeAll(async () => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  url = new URL(await postgres!.createDatabase())
  databasePort = Number(url.port)
  url.port = String(await freePort())
  folder = await temporaryFolder()
  const port = await freePort()
  listenUrl = `http://127.0.0.1:${port}`
  env = {
    KEYTURN_LISTEN: `127.0.0.1:${port}`,
    KEYTURN_METRICS_LISTEN: 'off',
    KEYTURN_DATA_DIR: join(folder, 'data'),
    KEYTURN_DATABASE_URL: url.href,
    KEYTURN_MASTER_KEYS: generateMasterKey(),
  }
})
afterEach(async () => {
  if (child !== undefined && child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  child = undefined
  await proxy?.close()
  proxy = undefined
  await removeFolder(folder)
})
afterAll(async () => {
  await postgres?.stop()
})

const serve = () => {
  child = spawnKeyturn(['serve'], env)
  return { child, output: collect(child), exited: once(child, 'exit') }
}

const get = async (path: string) => {
  const response = await fetch(`${listenUrl}${path}`)
  return { status: response.status, body: await response.text() }
}

describe('a server that starts before its database', () => {
  it('says that it waits, is alive but not ready, and goes on by itself when the database is there', async () => {
    const { output } = serve()
    await eventually(() => expect(output.stderr).toContain('waiting for the database'))
    expect(await get('/healthz')).toMatchObject({ status: 200 })
    expect(await get('/readyz')).toMatchObject({
      status: 503,
      body: expect.stringContaining('waiting for the database, which is not available'),
    })
    expect((await get('/.well-known/openid-configuration/jwks')).status).toBe(503)

    proxy = await startTcpProxy(databasePort, Number(url.port))
    await eventually(async () => expect((await get('/readyz')).status).toBe(200))
    await eventually(() => expect(output.stdout).toContain('Keyturn listens on'))
    expect(output.stderr).toContain(`waiting for the database at 127.0.0.1:${url.port}: connect ECONNREFUSED`)
    expect(output.stderr).not.toContain(TEST_PASSWORD)
  })

  it('stops with exit code 0 when it is told to while it waits, and has left nothing', async () => {
    const { child, output, exited } = serve()
    await eventually(() => expect(output.stderr).toContain('waiting for the database'))
    child.kill('SIGTERM')
    await exited
    expect({ code: child.exitCode, stdout: output.stdout }).toEqual({ code: 0, stdout: '' })
    expect(await readdir(folder)).toEqual([])
  })

  it.each([
    ['the password is wrong', () => url.href.replace(TEST_PASSWORD, 'pa55word'), 'password authentication failed'],
    ['there is no such database', () => `${url.href}_other`, 'does not exist'],
  ])('does not wait when %s: that has to be mended', async (_, spoilt, reason) => {
    proxy = await startTcpProxy(databasePort, Number(url.port))
    const { code, stdout, stderr } = await runKeyturn(['serve'], { ...env, KEYTURN_DATABASE_URL: spoilt() })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^keyturn: the database refuses: .+ \(SQLSTATE \w{5}\): /m)
    expect(stderr).toContain(reason)
    for (const password of [TEST_PASSWORD, 'pa55word']) expect(stderr).not.toContain(password)
  })
})
