import { beforeAll, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { describeConsole } from './console-tests.ts'

/** What has the focus, as a person finds it. */
interface Focused {
  /** What a screen reader calls it; empty: the page itself. */
  readonly name: string
  /** Whether it is in the window, with an outline. */
  readonly isVisible: boolean
  readonly isInDialog: boolean
}

const FOCUSED = `(() => {
  const element = document.activeElement
  if (element === null || element === document.body) return { name: '', isVisible: true, isInDialog: false }
  const { top, bottom, left, right, height } = element.getBoundingClientRect()
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const isInWindow = height > 0 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth
  const name = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent
  const isOutlined = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0
  return { name: name.trim(), isVisible: isInWindow && isOutlined, isInDialog: element.closest('dialog') !== null }
})()`

/** More than any page has to step through. */
const MOST_STEPS = 150

describeConsole('the console with the keyboard alone', (test) => {
  const press = (key: string) => test.page.keyboard.press(key)
  const type = (text: string) => test.page.keyboard.type(text)
  const focused = async () => (await test.page.evaluate(FOCUSED)) as Focused
  const isFocused = (name: string) => eventually(async () => expect((await focused()).name).toBe(name))
  const heading = (name: string) => test.page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const dialog = () => test.page.getByRole('dialog')

  /** Steps on to something. @throws If what has the focus on the way cannot be seen. */
  const stepTo = async (name: string) => {
    for (let count = 0; count < MOST_STEPS; count += 1) {
      await press('Tab')
      const { name: found, isVisible } = await focused()
      if (!isVisible) throw new Error(`the focus on ${found} cannot be seen`)
      if (found === name) return
    }
    throw new Error(`${name} cannot be reached`)
  }

  const goTo = async (name: string, title = name) => {
    await stepTo(name)
    await press('Enter')
    await heading(title)
    await isFocused(title)
  }

  /** Opens a dialog with a button. */
  const open = async (name: string) => {
    await stepTo(name)
    await press('Enter')
    await dialog().waitFor()
    await eventually(async () => expect((await focused()).isInDialog).toBe(true))
  }

  const isClosed = async () => {
    await dialog().waitFor({ state: 'detached' })
  }

  beforeAll(async () => {
    const { projects } = await test.owner.projects.listProjects({})
    const { projectId } = projects[0]!
    await test.owner.users.createServiceUser({ projectId, name: 'invoices', clientCredentialsEnabled: true })
  })

  it('creates a project and a user, gives it a secret that is shown once, and finds that in the audit trail', async () => {
    await goTo('Projects')
    await open('Create project')
    await type('shop')
    await press('Enter')
    await heading('shop')
    await isClosed()
    await test.page.getByRole('button', { name: 'Create user' }).waitFor()
    await open('Create user')
    await type('checkout')
    await press('Enter')
    await heading('checkout')
    await isClosed()

    await test.page.getByRole('button', { name: 'Generate secret' }).waitFor()
    await open('Generate secret')
    await stepTo('Generate')
    await press('Enter')
    await dialog()
      .getByText(/^ktn_cs_/)
      .waitFor()
    await eventually(async () => expect((await focused()).isInDialog).toBe(true))
    await press('Escape')
    await stepTo('I have saved it where the service finds it')
    await press('Space')
    await stepTo('Close')
    await press('Enter')
    await isClosed()
    await isFocused('Generate secret')

    await goTo('Audit trail')
    await test.page.getByRole('row').filter({ hasText: 'GenerateClientSecret' }).waitFor()
    await stepTo('Actor')
    await type('system')
    await press('Enter')
    await test.page.getByRole('row').filter({ hasText: 'GenerateClientSecret' }).waitFor({ state: 'detached' })
    await test.page.getByRole('row').filter({ hasText: 'bootstrap' }).waitFor()
    expect(new URL(test.page.url()).hash).toBe('#/audit?actor=system')
    await isFocused('Actor')
  })

  it('answers the question about what was entered, and is back where it was entered', async () => {
    await goTo('Service users')
    await test.page.getByRole('link', { name: 'invoices' }).waitFor()
    await open('Create user')
    await type('draft')
    await press('Escape')
    await isFocused('Go on with it')
    await press('Enter')
    await isFocused('Name')
    await press('Escape')
    await stepTo('Discard it')
    await press('Enter')
    await isClosed()
    await isFocused('Create user')
  })

  it('comes from the beginning of each page to its end, past all that it has, and sees where it is', async () => {
    for (const place of ['keys', 'users', 'projects', 'issuers', 'webhooks', 'audit', 'tokens', 'instance']) {
      await test.console.goTo(`/${place}`)
      await test.page.getByRole('navigation').locator('[aria-current=page]').waitFor()
      await test.page.getByText('Loading…').first().waitFor({ state: 'detached' })
      await test.page.evaluate('document.activeElement.blur()')
      await stepTo('Skip to the content')
      await stepTo('Skip to the content')
    }
  })
})
