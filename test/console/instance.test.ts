import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Browser, Page } from 'playwright-core'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf, administrationWith } from '../support/administration.ts'
import { seedSession } from '../support/console-seed.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { describeUnless } from '../support/unless.ts'
import { type ConsolePage, NO_BROWSER, openBrowser, signIn } from './browser.ts'
import { describeConsole } from './console-tests.ts'

const tableOf = (page: Page, name: RegExp) => page.getByRole('table', { name })

describeUnless(NO_BROWSER)('the replicas in the console', () => {
  let postgres: TestPostgres
  let databasePort: number
  let proxy: TcpProxy
  let servers: Keyturn[] = []
  let browser: Browser
  let owner: Administration
  let console: ConsolePage
  beforeAll(async () => {
    postgres = sharedPostgres()
    const url = new URL(await postgres.createMigratedDatabase())
    const env = { KEYTURN_DATABASE_URL: url.href, KEYTURN_MASTER_KEYS: generateMasterKey() }
    const server = await startKeyturnInProcess({ env })
    servers = [server]
    databasePort = Number(url.port)
    proxy = await startTcpProxy(databasePort)
    url.port = String(proxy.port)
    const { baseUrl } = server
    const cutOff = { ...env, KEYTURN_DATABASE_URL: url.href, KEYTURN_BASE_URL: baseUrl }
    servers.push(await startKeyturnInProcess({ env: cutOff }))
    browser = await openBrowser()
    owner = await administrationOf(server)
    console = await signIn(browser, server, { user: owner, viewport: { width: 1280, height: 900 } })
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all(servers.map((server) => server.stop()))
    await Promise.all(servers.map(({ dataDir }) => removeFolder(dataDir)))
    await proxy?.close()
    await postgres?.stop()
  })

  it('are there with their versions, and one that loses the database is shown with what it lacks', async () => {
    const { page, faults, goTo } = console
    const [answering, other] = await Promise.all(
      servers.map(async (server) => (await administrationWith(server, owner.token).instance.getInstance({})).instance!),
    )
    await goTo('/instance')
    const rowOf = (replicaId: string) =>
      tableOf(page, /^Replicas$/)
        .getByRole('row')
        .filter({ hasText: replicaId.slice(0, 8) })
    const [own, cut] = [rowOf(answering!.replica!.replicaId), rowOf(other!.replica!.replicaId)]
    const { version } = (await owner.instance.getInstance({})).instance!
    for (const row of [own, cut]) {
      await row.getByRole('cell', { name: String(version), exact: true }).waitFor()
      await row.getByText('ready', { exact: true }).waitFor()
      await row.getByText('nothing', { exact: true }).waitFor()
    }
    expect(await own.getByText('this one').count()).toBe(1)
    expect(await cut.getByText('this one').count()).toBe(0)

    await proxy.close()
    await owner.projects.createProject({ name: 'one' })
    await owner.projects.createProject({ name: 'two' })
    await cut.getByText('not seen').waitFor()
    await cut.getByText('2 changes').waitFor()
    await own.getByText('nothing', { exact: true }).waitFor()
    expect(await own.getByText('ready', { exact: true }).count()).toBe(1)

    proxy = await startTcpProxy(databasePort, proxy.port)
    await cut.getByText('nothing', { exact: true }).waitFor()
    await cut.getByText('ready', { exact: true }).waitFor()
    const [, second] = servers
    await second!.stop()
    servers = servers.slice(0, 1)
    await removeFolder(second!.dataDir)
    await cut.waitFor({ state: 'detached' })
    expect(faults).toEqual([])
  })
})

describeConsole('the page of the instance', (test) => {
  it('shows the sessions, says of one that it cannot be read, and ends it', async () => {
    const { page, instance } = test
    const { userId } = await instance.addRobot({ name: 'on-call' })
    const { sessionId } = await seedSession(instance, userId, { created: -60, expires: 3600, lastUse: 0 })
    await sql`update console_sessions set client_address = '192.0.2.9' where session_id = ${sessionId}`.execute(
      instance.database.db,
    )
    await test.console.goTo('/instance')
    const sessions = page.getByRole('region', { name: 'Sessions of the console' })
    await sessions.getByText('was not written by Keyturn as it is').waitFor()
    await sessions.getByRole('link', { name: 'administrator' }).waitFor()
    await sessions.getByRole('button', { name: `Revoke the unreadable session ${sessionId.slice(0, 8)}…` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await sessions.getByText('unreadable').first().waitFor({ state: 'detached' })
    expect(await sessions.getByRole('link', { name: 'administrator' }).count()).toBe(1)
  })
})
