import { expect, it } from '@jest/globals'
import { newCode } from '../support/console-browser.ts'
import { seedLink } from '../support/console-seed.ts'
import { openPage, signIn } from './browser.ts'
import { describeConsole } from './console-tests.ts'

describeConsole('signing in at the console', (test) => {
  const signedIn = () => signIn(test.browser, test.server, { user: test.owner })

  it('says how to get a link to a browser that has no session', async () => {
    const { page, faults, close } = await openPage(test.browser, test.server)
    await page.getByText('npx keyturn console').waitFor()
    expect(faults).toEqual([])
    await close()
  })

  it('takes a link, and removes the code from the address', async () => {
    const { page, faults, close } = await signedIn()
    expect(page.url()).toBe(`${test.server.baseUrl}/console/`)
    expect(await page.evaluate('document.cookie')).toBe('')
    expect(faults).toEqual([])
    await close()
  })

  it('refuses a link that was used in another browser', async () => {
    const at = `#code=${await newCode(test.owner)}`
    const first = await openPage(test.browser, test.server, { at })
    await first.page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    const second = await openPage(test.browser, test.server, { at })
    await second.page.getByText('npx keyturn console').waitFor()
    expect(await second.page.getByRole('status').textContent()).toMatch(/link/)
    await Promise.all([first.close(), second.close()])
  })

  it('signs out, so that the page cannot be loaded again', async () => {
    const { page, close } = await signedIn()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You have signed out.').waitFor()
    await page.reload()
    await page.getByText('npx keyturn console').waitFor()
    await close()
  })

  it('says that the session goes on if signing out failed, and tries again', async () => {
    const { page, close } = await signedIn()
    await page.route('**/console/session', (route) => route.abort())
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are still signed in' }).waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: 'Back to the console' }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.route('**/console/session', (route) => route.abort())
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are still signed in' }).waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('You have signed out.').waitFor()
    await close()
  })

  it('leads back to the sign-in page when the session was revoked', async () => {
    const { page, goTo, close } = await signedIn()
    const { sessions } = await test.owner.console.listSessions({})
    for (const { sessionId } of sessions) await test.owner.console.revokeSession({ sessionId })
    await page.getByText('Your session has ended.').waitFor()
    await goTo(`code=${await newCode(test.owner)}`)
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await close()
  })

  const refusedAt = async (at: string) => {
    const { page, faults, close } = await openPage(test.browser, test.server, { at })
    await page.getByText('npx keyturn console').waitFor()
    expect(await page.getByRole('status').textContent()).toMatch(/link/)
    expect(page.url()).not.toContain('code')
    expect(faults).toEqual([])
    await close()
  }

  it('is refused a second after its minute', async () => {
    const robot = await test.instance.addRobot({ instanceRoles: ['IAM_OWNER'] })
    await refusedAt(`#code=${await seedLink(test.instance, robot.userId, -1)}`)
  })

  it('is refused when it was made up', async () => {
    await refusedAt('#code=ktn_code_made-up')
  })
})
