import { expect, it } from '@jest/globals'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import type { Administration } from '../support/administration.ts'
import { signIn } from './browser.ts'
import { type ConsoleTest, describeConsole } from './console-tests.ts'

/** What axe finds, by rule, with the elements. */
async function violationsIn(page: Page): Promise<unknown[]> {
  await page.evaluate(axe.source)
  return (await page.evaluate(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
      .then(({ violations }) => violations.map(({ id, nodes }) => ({ id, at: nodes.map(({ html, failureSummary }) => html + failureSummary) })))`,
  )) as unknown[]
}

const ISSUER = 'https://unreachable.example.com:8443/realms/a-cluster-with-a-long-name/workloads'

/** A trusted issuer whose keys cannot be fetched. */
async function issuerOf({ issuers }: Administration): Promise<string> {
  const { trustedIssuers } = await issuers.listTrustedIssuers({})
  if (trustedIssuers[0] !== undefined) return trustedIssuers[0].issuerId
  const keys = { source: { case: 'jwksUrl', value: 'https://127.0.0.1:1/jwks' } } as const
  const { trustedIssuer } = await issuers.createTrustedIssuer({ issuer: ISSUER, keys })
  return trustedIssuer!.issuerId
}

/** A webhook whose receiver cannot be reached. */
async function webhookOf({ webhooks }: Administration): Promise<string> {
  const [found] = (await webhooks.listWebhooks({})).webhooks
  if (found !== undefined) return found.webhookId
  const url = 'https://unreachable.example.com:8443/events/of/an-instance-with-a-long-name'
  const { webhook } = await webhooks.createWebhook({ name: 'siem', url, eventTypes: ['keyturn.rotation.*'] })
  return webhook!.webhookId
}

/** Each place, and a text that is there once it is loaded. */
async function placesOf({ owner }: ConsoleTest): Promise<[place: string, text: string | RegExp][]> {
  const { serviceUsers } = await owner.users.listServiceUsers({})
  const { userId = '', projectId = '' } = serviceUsers[0] ?? {}
  const issuerId = await issuerOf(owner)
  return [
    ['/keys', 'What happens next'],
    ['/users', 'administrator'],
    [`/users/${userId}`, 'Federated identities'],
    ['/projects', /A project is a group/],
    [`/projects/${projectId}`, 'Custom scopes'],
    ['/issuers', ISSUER],
    [`/issuers/${issuerId}`, 'The last fetch failed'],
    ['/webhooks', 'siem'],
    [`/webhooks/${await webhookOf(owner)}`, 'What is sent'],
    ['/audit', 'CreateSignInLink'],
    ['/tokens', /Paste an access token/],
    ['/instance', 'Sessions of the console'],
    ['/nothing', 'There is no such page'],
  ]
}

/** Buttons that open a dialog, by place. */
const DIALOGS: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  '/keys': ['Create key', 'Rotate now', 'Change policy', /^Revoke/],
  '/users': ['Create user'],
  '/issuers': ['Trust issuer'],
  '/webhooks': ['Create webhook'],
  '/tokens': ['Get a token'],
}

describeConsole('the console for everyone', (test) => {
  const visit = async (page: Page, [place, text]: [string, string | RegExp]) => {
    await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`)
    await page.getByRole('main').getByText(text).first().waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
  }

  it.each(['light', 'dark'] as const)('has no page in which axe finds something, in %s', async (colorScheme) => {
    const { page, close } = await signIn(test.browser, test.server, { user: test.owner, colorScheme, bypassCSP: true })
    const found: Record<string, unknown> = {}
    for (const place of await placesOf(test)) {
      await visit(page, place)
      const violations = await violationsIn(page)
      if (violations.length > 0) found[place[0]] = violations
    }
    for (const [place, names] of Object.entries(DIALOGS)) {
      await page.evaluate(`location.hash = '#${place}'`)
      for (const name of names) {
        await page.getByRole('main').getByRole('button', { name }).first().click()
        await page.getByRole('dialog').waitFor()
        const violations = await violationsIn(page)
        if (violations.length > 0) found[`${place} ${name}`] = violations
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
    }
    expect(found).toEqual({})
    await close()
  })

  it.each([360, 768, 1600])('has no page that is wider than a window of %i pixels', async (width) => {
    const viewport = { width, height: 800 }
    const { page, faults, close } = await signIn(test.browser, test.server, { user: test.owner, viewport })
    for (const place of await placesOf(test)) {
      await visit(page, place)
      expect([place[0], await page.evaluate('document.documentElement.scrollWidth')]).toEqual([place[0], width])
    }
    expect(faults).toEqual([])
    await close()
  })
})
