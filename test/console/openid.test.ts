import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { startOpenIdProvider, type TestOpenIdProvider } from '../support/openid-person.ts'
import { describeUnless } from '../support/unless.ts'
import { NO_BROWSER, openBrowser, openPage } from './browser.ts'

const SECRET = 'secret-of-the-client'

describeUnless(NO_BROWSER)('signing in at the console with an OpenID provider', () => {
  let folder: string
  let provider: TestOpenIdProvider
  let server: Keyturn
  let browser: Browser
  beforeAll(async () => {
    folder = await temporaryFolder()
    const port = await freePort()
    const baseUrl = `http://localhost:${port}`
    provider = await startOpenIdProvider(`${baseUrl}/console/callback`, SECRET)
    await writeFile(join(folder, 'secret'), `${SECRET}\n`)
    server = await startKeyturnInProcess({
      env: {
        KEYTURN_LISTEN: `127.0.0.1:${port}`,
        KEYTURN_BASE_URL: baseUrl,
        KEYTURN_OPENID_ISSUER: provider.issuer,
        KEYTURN_OPENID_CLIENT_ID: 'keyturn',
        KEYTURN_OPENID_CLIENT_SECRET_FILE: join(folder, 'secret'),
        KEYTURN_OPENID_SCOPES: 'openid profile groups',
        KEYTURN_OPENID_ROLES: '{"IAM_OWNER":{"groups":["platform"]}}',
      },
    })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    await provider?.stop()
    if (server !== undefined) await removeFolder(server.dataDir)
    await removeFolder(folder)
  })

  it('leads there and back', async () => {
    const { page, close } = await openPage(browser, server)
    await page.getByRole('link', { name: 'Sign in with your account' }).click()
    await page.locator('input[name=login]').fill('ada:platform')
    await page.locator('input[name=password]').fill('any')
    await page.locator('button[type=submit]').click()
    await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' })
    await page.locator('button[type=submit]').click()
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/console/')
    expect(await page.getByRole('banner').textContent()).toContain('ada Doe')
    await close()
  })
})
