import { expect, it } from '@jest/globals'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { administrationOf } from '../support/administration.ts'
import { signIn } from './browser.ts'
import { describeConsole } from './console-tests.ts'

describeConsole('a revocation in the console', (test) => {
  const dialog = () => test.page.getByRole('dialog')

  it('of all tokens of a user is seen at once by another browser that looks at one of them', async () => {
    const robot = await test.instance.addRobot()
    const token = await test.instance.accessToken(robot, 'openid')
    const other = await signIn(test.browser, test.server, { user: test.owner })
    await other.goTo('/tokens')
    await other.page.getByLabel('Access token').fill(token)
    const card = other.page.getByRole('region', { name: 'Would it verify now?' })
    await card.getByText('yes', { exact: true }).waitFor()
    await test.console.goTo(`/users/${robot.userId}`)
    await test.page.getByRole('button', { name: 'Revoke all tokens' }).click()
    await dialog().getByText('Services that verify tokens themselves accept them until they expire').waitFor()
    await dialog().getByRole('button', { name: 'Revoke all' }).click()
    await dialog().waitFor({ state: 'detached' })
    await card.getByText('not at Keyturn', { exact: true }).waitFor()
    expect((await test.owner.users.introspectToken({ token })).active).toBe(false)
    expect(other.faults).toEqual([])
    await other.close()
  })

  // The last one: the token of the administration is refused from then on.
  it('of the key that signs makes a verifier that is not ours refuse its tokens, and accept new ones', async () => {
    const robot = await test.instance.addRobot()
    // A verifier that has just come, which fetches the key set anew.
    const verify = (token: string) =>
      jwtVerify(token, createRemoteJWKSet(new URL(`${test.server.baseUrl}/.well-known/openid-configuration/jwks`)))
    const before = await test.instance.accessToken(robot, 'openid')
    const { kid } = (await verify(before)).protectedHeader
    await test.console.goTo('/keys')
    const row = test.page.getByRole('row').filter({ hasText: kid!.slice(0, 8) })
    await row.getByRole('button', { name: 'Revoke' }).click()
    expect(await dialog().textContent()).toContain('every client needs a new token')
    const button = dialog().getByRole('button', { name: 'Revoke for good' })
    expect(await button.isDisabled()).toBe(true)
    await dialog().getByLabel('This cannot be undone').check()
    await button.click()
    await row.waitFor({ state: 'detached' })
    await expect(verify(before)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
    const after = await test.instance.accessToken(robot, 'openid')
    expect((await verify(after)).protectedHeader.kid).not.toBe(kid)
    // The key has signed the token of the session too.
    const { page, goTo } = await signIn(test.browser, test.server, { user: await administrationOf(test.server) })
    await page.getByLabel('Show revoked keys').check()
    const revoked = page.getByRole('row').filter({ hasText: kid!.slice(0, 8) })
    await revoked.getByText('revoked', { exact: true }).waitFor()
    await goTo('/tokens')
    await page.getByLabel('Access token').fill(before)
    await page.getByText('is not published: it was deleted or revoked').waitFor()
  })
})
