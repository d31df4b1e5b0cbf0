import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf } from '../support/administration.ts'
import { newCode } from '../support/console-browser.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { describeUnless } from '../support/unless.ts'
import { type ConsolePage, NO_BROWSER, openBrowser, openPage, signIn } from './browser.ts'

describeUnless(NO_BROWSER)('the console without the database', () => {
  let postgres: TestPostgres
  let databasePort: number
  let proxy: TcpProxy
  let server: Keyturn
  let browser: Browser
  let owner: Administration
  let console: ConsolePage
  beforeAll(async () => {
    postgres = sharedPostgres()
    const url = new URL(await postgres.createMigratedDatabase())
    databasePort = Number(url.port)
    proxy = await startTcpProxy(databasePort)
    url.port = String(proxy.port)
    const env = { KEYTURN_DATABASE_URL: url.href, KEYTURN_MASTER_KEYS: generateMasterKey() }
    server = await startKeyturnInProcess({ env })
    browser = await openBrowser()
    owner = await administrationOf(server)
    console = await signIn(browser, server, { user: owner })
  })
  afterAll(async () => {
    await browser?.close()
    await removeServers(server)
    await proxy?.close()
    await postgres?.stop()
  })

  it('keeps what it shows, refuses changes in the words of the API, and goes on afterwards', async () => {
    const { page, faults } = console
    await page.getByText('What happens next').waitFor()
    await proxy.close()
    const banner = page.getByRole('alert').filter({ hasText: /What is shown is .* old\./ })
    await banner.waitFor()
    expect(await page.getByText('What happens next').count()).toBe(1)
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByRole('alert').getByText('STORAGE_UNAVAILABLE').waitFor()
    proxy = await startTcpProxy(databasePort, proxy.port)
    await banner.waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('status').getByText('is created and published').waitFor()
    expect(faults).toEqual([])
  })

  it('loads by itself what it could not load during an outage', async () => {
    const { page, goTo, faults } = console
    await page.getByText('What happens next').waitFor()
    await proxy.close()
    await page
      .getByRole('alert')
      .filter({ hasText: /What is shown is .* old\./ })
      .waitFor()
    await goTo('/users')
    await page.getByRole('region', { name: 'Service users' }).getByText('STORAGE_UNAVAILABLE').waitFor()
    proxy = await startTcpProxy(databasePort, proxy.port)
    await page.getByRole('link', { name: 'administrator' }).waitFor()
    await page.getByRole('alert').first().waitFor({ state: 'detached' })
    expect(faults).toEqual([])
  })

  it('opens by itself after an outage, and keeps the link that it was opened with', async () => {
    const at = `#code=${await newCode(owner)}`
    await proxy.close()
    const { page, faults, close } = await openPage(browser, server, { at })
    await page.getByText('Your sign-in link has not been used.').waitFor()
    expect(await page.getByRole('alert').textContent()).toContain('The database')
    expect(page.url()).not.toContain('code')
    proxy = await startTcpProxy(databasePort, proxy.port)
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    expect(faults).toEqual([])
    await close()
  })

  it('signs out the browser, and says that the session goes on', async () => {
    const { page, close } = await signIn(browser, server, { user: owner })
    await page.getByText('What happens next').waitFor()
    await proxy.close()
    await page
      .getByRole('alert')
      .filter({ hasText: /What is shown is .* old\./ })
      .waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out in this browser only.').waitFor()
    proxy = await startTcpProxy(databasePort, proxy.port)
    await console.page.getByRole('alert').first().waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('npx keyturn console').waitFor()
    await close()
  })
})
