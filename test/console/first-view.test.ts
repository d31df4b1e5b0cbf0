import { expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { newCode } from '../support/console-browser.ts'
import { eventually } from '../support/eventually.ts'
import { openPage } from './browser.ts'
import { describeConsole } from './console-tests.ts'

const VISITS = 5

/** In milliseconds. */
const sinceNavigation = (page: Page) => page.evaluate<number>('performance.now()')

/** What a person would wait for. It is said and not asserted: it is the time of the machine too. */
function say(what: string, times: readonly number[]): void {
  process.stderr.write(`${what}: ${times.map((time) => `${Math.round(time)} ms`).join(', ')}\n`)
}

describeConsole('the first view of the console', (test) => {
  it('takes one page, one script and one style, none of which is loaded a second time', async () => {
    const [cold, warm]: [number[], number[]] = [[], []]
    for (let visit = 0; visit < VISITS; visit += 1) {
      const at = `#code=${await newCode(test.owner)}`
      const { page, faults, close } = await openPage(test.browser, test.server, { at })
      await page.getByRole('img', { name: /^Timeline/ }).waitFor()
      cold.push(await sinceNavigation(page))
      expect(await assetsOf(page)).toEqual({ css: true, js: true, svg: true })
      await page.goto('about:blank')
      await page.goto(`${test.server.baseUrl}/console/`)
      await page.getByRole('img', { name: /^Timeline/ }).waitFor()
      warm.push(await sinceNavigation(page))
      // Their names change with their content, so that the browser need not ask.
      expect(await assetsOf(page)).toEqual({ css: false, js: false, svg: false })
      expect(faults).toEqual([])
      await close()
    }
    say('from a link to the timeline, in a new browser', cold)
    say('from the address to the timeline, in one that has been there', warm)
  })
})

/** By the ending of its name, whether it was transferred. */
async function assetsOf(page: Page): Promise<Readonly<Record<string, boolean>>> {
  // The browser asks for the icon when it has nothing better to do, and notes it when it has it.
  const assets = await eventually(async () => {
    const loaded = await page.evaluate<[name: string, transferred: number][]>(
      `performance.getEntriesByType('resource').map(({ name, transferSize }) => [name, transferSize])`,
    )
    const found = loaded.filter(([name]) => name.includes('/console/assets/'))
    expect(found).toHaveLength(3)
    return found
  })
  return Object.fromEntries(assets.map(([name, transferred]) => [name.replace(/.*\./, ''), transferred > 0]))
}
