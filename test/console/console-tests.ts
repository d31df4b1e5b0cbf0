/**
 * What all tests of the page share: a server, a browser, and a page that is signed in and did nothing that it must not do.
 */
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { type Administration, administrationOf } from '../support/administration.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { describeUnless } from '../support/unless.ts'
import { type ConsolePage, NO_BROWSER, openBrowser, signIn } from './browser.ts'

/** What a test has. Everything is there once the tests run. */
export interface ConsoleTest {
  readonly instance: OAuthInstance
  readonly server: Keyturn
  readonly browser: Browser
  /** The administrator, whose session the page has too. */
  readonly owner: Administration
  readonly console: ConsolePage
  readonly page: Page
}

type Settings = Readonly<Record<string, string>>

/** Tests of the page, each of which fails too if the page did something that it must not do. */
export function describeConsole(
  name: string,
  tests: (test: ConsoleTest) => void,
  env: Settings | (() => Promise<Settings>) = {},
): void {
  describeUnless(NO_BROWSER)(name, () => {
    const test = {} as { -readonly [Part in keyof ConsoleTest]: ConsoleTest[Part] }
    beforeAll(async () => {
      test.instance = await startOAuthInstance(typeof env === 'function' ? await env() : env)
      test.server = test.instance.keyturn
      test.owner = await administrationOf(test.server)
      test.browser = await openBrowser()
      test.console = await signIn(test.browser, test.server, {
        user: test.owner,
        viewport: { width: 1280, height: 900 },
      })
      test.page = test.console.page
    })
    afterAll(async () => {
      await test.browser?.close()
      await test.instance?.stop()
    })
    afterEach(() => expect(test.console.faults).toEqual([]))
    tests(test)
  })
}
