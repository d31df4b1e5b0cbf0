/**
 * The console of a replica that is cut off from the database: it says so, refuses nobody for good, and goes on afterwards.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf } from '../support/administration.ts'
import { type ConsoleBrowser, newCode, openBrowser } from '../support/console-browser.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const GET_INSTANCE = 'iam.instance.v2.InstanceService/GetInstance'

let postgres: TestPostgres
let databasePort: number
let proxy: TcpProxy
let server: Keyturn
let admin: Administration
let browser: ConsoleBrowser
beforeAll(async () => {
  postgres = sharedPostgres()
  const url = new URL(await postgres.createMigratedDatabase())
  databasePort = Number(url.port)
  proxy = await startTcpProxy(databasePort)
  url.port = String(proxy.port)
  const env = { KEYTURN_DATABASE_URL: url.href, KEYTURN_MASTER_KEYS: generateMasterKey() }
  server = await startKeyturnInProcess({ env })
  admin = await administrationOf(server)
  browser = openBrowser(server)
  await browser.signIn(await newCode(admin))
})
afterAll(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
  await proxy?.close()
  await postgres?.stop()
})

describe('without the database', () => {
  it('every request of the console is answered with 503 and a time to try again, and the session lasts', async () => {
    const code = await newCode(admin)
    const leaving = openBrowser(server)
    leaving.cookie = browser.cookie
    await proxy.close()
    const requests: [string, () => Promise<Response>][] = [
      ['a call', () => browser.call(GET_INSTANCE)],
      ['the session', () => browser.send('/console/session')],
      ['signing in', () => openBrowser(server).signIn(code)],
      ['signing out', () => leaving.send('/console/session', { method: 'DELETE' })],
    ]
    await eventually(async () => expect((await browser.call(GET_INSTANCE)).status).toBe(503))
    for (const [name, request] of requests) {
      const response = await request()
      const { code } = (await response.json()) as { code: string }
      expect({ name, status: response.status, retryAfter: response.headers.get('retry-after'), code }).toEqual({
        name,
        status: 503,
        retryAfter: '5',
        code: 'unavailable',
      })
    }
    expect(browser.cookie).toBeDefined()
    // Signing out takes the cookie away all the same, so that the browser is not signed in afterwards.
    expect(leaving.cookie).toBeUndefined()

    proxy = await startTcpProxy(databasePort, proxy.port)
    await eventually(async () => expect((await browser.call(GET_INSTANCE)).status).toBe(200))
    expect((await openBrowser(server).signIn(code)).status).toBe(204)
  })
})
