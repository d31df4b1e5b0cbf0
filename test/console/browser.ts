/**
 * A browser at the console: Chromium of the system, signed in with a link, and what it did that it must not do.
 */
import { accessSync, constants } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Administration } from '../support/administration.ts'
import { newCode } from '../support/console-browser.ts'
import type { Keyturn } from '../support/keyturn.ts'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(isExecutable)

/** Why the page cannot be tested here; undefined if it can. */
export const NO_BROWSER = CHROMIUM === undefined ? 'Chromium is not installed' : undefined

/** So that it works as root, and makes no requests of its own. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** How long the page may take to show something, in milliseconds, on a machine that is busy with other things. */
const TIMEOUT = 60_000

/** A page at the console. */
export interface ConsolePage {
  readonly page: Page
  /** Goes to a place, for example `/users?search=shop`. */
  goTo(place: string): Promise<void>
  /** Requests of other origins, violations of the content security policy, and exceptions: all that must not be. */
  readonly faults: readonly string[]
  close(): Promise<void>
}

/** Starts a browser. */
export function openBrowser(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('there is no browser')
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
}

/** A page of a browser of its own, without a session, at an address of the console, for example `#code=…`. */
export async function openPage(
  browser: Browser,
  server: Pick<Keyturn, 'baseUrl'>,
  { at = '', ...options }: BrowserContextOptions & { readonly at?: string } = {},
): Promise<ConsolePage> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(TIMEOUT)
  const faults: string[] = []
  const page = await context.newPage()
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== server.baseUrl && protocol !== 'blob:') faults.push(`a request to ${request.url()}`)
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) faults.push(message.text())
  })
  page.on('dialog', (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(`${server.baseUrl}/console/${at}`)
  return {
    page,
    faults,
    goTo: async (place) => {
      await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`)
    },
    close: () => context.close(),
  }
}

/** A page that is signed in. */
export async function signIn(
  browser: Browser,
  server: Pick<Keyturn, 'baseUrl'>,
  { user, ...options }: BrowserContextOptions & { readonly user: Pick<Administration, 'console'> },
): Promise<ConsolePage> {
  const opened = await openPage(browser, server, { ...options, at: `#code=${await newCode(user)}` })
  await opened.page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
  return opened
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
