import { expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { describeConsole } from './console-tests.ts'

/** A client that gets one token after another. */
interface LoadedClient {
  /** What it was answered, by secret. */
  readonly statuses: ReadonlyMap<string, readonly number[]>
  /** From now on it uses this secret. */
  use(secret: string): void
  /** Resolves when it was answered so many times with a secret. */
  answered(secret: string, count: number): Promise<void>
  stop(): Promise<void>
}

function startClient(request: (secret: string) => Promise<Response>, first: string): LoadedClient {
  const statuses = new Map<string, number[]>()
  let secret = first
  let isStopped = false
  const run = async () => {
    while (!isStopped) {
      const used = secret
      const response = await request(used)
      await response.text()
      statuses.set(used, [...(statuses.get(used) ?? []), response.status])
    }
  }
  const done = run()
  return {
    statuses,
    use: (next) => {
      secret = next
    },
    answered: (which, count) =>
      eventually(async () => expect(statuses.get(which)?.length).toBeGreaterThanOrEqual(count)),
    stop: async () => {
      isStopped = true
      await done
    },
  }
}

describeConsole('a secret that is rotated in the console under load', (test) => {
  it('costs the client no token, and the page sees when the old one is no longer used', async () => {
    const { page, instance, owner } = test
    const robot = await instance.addRobot()
    const { clientId, userId, clientSecret: old } = robot
    const requestAt = (replica: Keyturn) => (secret: string) =>
      instance.postForm(
        { grant_type: 'client_credentials', client_id: clientId, client_secret: secret, scope: 'openid' },
        {},
        replica,
      )
    // It writes the last uses when it stops, and not within a minute.
    const replica = await instance.startReplica()
    const client = startClient(requestAt(replica), old)
    await client.answered(old, 20)

    await test.console.goTo(`/users/${userId}`)
    const secrets = page.getByRole('region', { name: 'Client secrets' })
    const dialog = page.getByRole('dialog')
    await secrets.getByRole('button', { name: 'Generate secret' }).click()
    await dialog.getByRole('button', { name: 'Generate' }).click()
    const fresh = (await dialog.locator('[data-secret]').textContent()) ?? ''
    await dialog.getByLabel('I have saved it').check()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await secrets.getByText('the new one has not been used yet').waitFor()
    await client.answered(old, 40)

    client.use(fresh)
    await client.answered(fresh, 20)
    await client.stop()
    const next = startClient(requestAt(test.server), fresh)
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
    const before = next.statuses.get(fresh)?.length ?? 0
    await next.answered(fresh, before + 20)
    await next.stop()

    const answers = [...client.statuses, ...next.statuses].flatMap(([, statuses]) => statuses)
    expect(new Set(answers)).toEqual(new Set([200]))
    expect((await requestAt(test.server)(old)).status).toBe(401)
    expect((await owner.users.listClientSecrets({ userId })).secrets).toHaveLength(2)
  })
})
