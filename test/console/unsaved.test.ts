import { expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { describeConsole } from './console-tests.ts'

describeConsole('what was entered in a dialog of the console', (test) => {
  const dialog = () => test.page.getByRole('dialog')
  const button = (name: string) => dialog().getByRole('button', { name })
  const placeOf = () => new URL(test.page.url()).hash
  const goBack = () =>
    test.page.evaluate("new Promise((go) => { addEventListener('hashchange', go, { once: true }); history.back() })")
  /** Whether the browser would leave the page without a question. */
  const mayBeLeft = () => test.page.evaluate("dispatchEvent(new Event('beforeunload', { cancelable: true }))")

  const startTyping = async () => {
    await test.console.goTo('/projects')
    await test.page.getByRole('heading', { name: 'Projects', exact: true }).waitFor()
    await test.console.goTo('/users')
    await test.page.getByRole('button', { name: 'Create user' }).click()
    await dialog().waitFor()
    await dialog().getByLabel('Name').pressSequentially('checkout')
    await eventually(async () => expect(await mayBeLeft()).toBe(false))
  }

  it('stays when the browser goes back, until it is discarded', async () => {
    await startTyping()
    await goBack()
    await dialog().getByRole('alert').getByText('What you have entered is not saved').waitFor()
    expect(placeOf()).toBe('#/users')
    await dialog().locator('button:focus', { hasText: 'Go on with it' }).waitFor()
    await test.page.keyboard.press('Enter')
    await dialog().getByRole('alert').waitFor({ state: 'detached' })
    expect(await dialog().locator('input:focus').inputValue()).toBe('checkout')

    await startAgain()
    await goBack()
    await button('Discard it').click()
    await dialog().waitFor({ state: 'detached' })
    await test.page.getByRole('heading', { name: 'Projects', exact: true }).waitFor()
    expect([placeOf(), await mayBeLeft()]).toEqual(['#/projects', true])
  })

  const startAgain = async () => {
    await button('Cancel').click()
    await dialog().waitFor({ state: 'detached' })
    await startTyping()
  }

  it('is asked about by the browser before the page is left, and no longer once it is cancelled', async () => {
    await startTyping()
    await button('Cancel').click()
    await dialog().waitFor({ state: 'detached' })
    expect(await mayBeLeft()).toBe(true)
  })

  it('stays at the first Escape, and nothing asks about a dialog in which nothing was entered', async () => {
    await startTyping()
    await test.page.keyboard.press('Escape')
    await dialog().getByRole('alert').waitFor()
    await button('Go on with it').click()
    expect(await dialog().getByLabel('Name').inputValue()).toBe('checkout')
    await button('Cancel').click()
    await test.page.getByRole('button', { name: 'Create user' }).click()
    await dialog().waitFor()
    await test.page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
  })

  it('is done when it is sent, and a dialog that the address has opened stays closed after a reload', async () => {
    await startTyping()
    await button('Create user').click()
    await test.page.getByRole('heading', { level: 1, name: 'checkout' }).waitFor()
    expect(await mayBeLeft()).toBe(true)
    expect(await dialog().count()).toBe(0)

    await test.page.getByRole('link', { name: 'Get a token' }).click()
    await dialog().getByText('This is checkout.').waitFor()
    await button('Cancel').click()
    await dialog().waitFor({ state: 'detached' })
    expect(placeOf()).toBe('#/tokens')
    await test.page.reload()
    await test.page.getByRole('button', { name: 'Get a token' }).waitFor()
    expect(await dialog().count()).toBe(0)
  })
})
