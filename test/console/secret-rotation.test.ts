import { expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { describeConsole } from './console-tests.ts'

describeConsole('a secret that is rotated in the console', (test) => {
  it('is followed step by step, until the old one is no longer used', async () => {
    const { page, instance } = test
    const robot = await instance.addRobot()
    const { userId, clientSecret: old } = robot
    // It writes the last uses when it stops, and not within a minute.
    const replica = await instance.startReplica()
    const statusWith = async (client_secret: string, server = test.server) => {
      const form = { grant_type: 'client_credentials', client_id: robot.clientId, client_secret, scope: 'openid' }
      return (await instance.postForm(form, {}, server)).status
    }
    await test.console.goTo(`/users/${userId}`)
    const secrets = page.getByRole('region', { name: 'Client secrets' })
    const dialog = page.getByRole('dialog')
    await secrets.getByRole('button', { name: 'Generate secret' }).click()
    await dialog.getByRole('button', { name: 'Generate' }).click()
    const fresh = (await dialog.locator('[data-secret]').textContent()) ?? ''
    await dialog.getByLabel('I have saved it').check()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await secrets.getByText('the new one has not been used yet').waitFor()
    expect([await statusWith(old, replica), await statusWith(fresh, replica)]).toEqual([200, 200])
    await replica.stop()
    await secrets.getByText('the new one is in use').waitFor()
    const done = secrets.getByRole('listitem').filter({ hasText: 'Done:' })
    expect(await done.count()).toBe(2)

    // So long ago that every token that it got has expired.
    await sql`update credentials set last_use_date = clock_timestamp() - interval '2 days'
      where user_id = ${userId} and credential_id = (
        select credential_id from credentials where user_id = ${userId} order by creation_date limit 1)`.execute(
      instance.database.db,
    )
    await done.nth(2).waitFor()
    await secrets.getByRole('button', { name: /^Deactivate [0-9a-f]{8}…$/ }).click()
    await dialog.getByRole('button', { name: 'Deactivate for good' }).click()
    await secrets.getByText('deactivated', { exact: true }).waitFor()
    expect([await statusWith(old), await statusWith(fresh)]).toEqual([401, 200])
  })
})
