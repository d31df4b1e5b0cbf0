import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { startReceiver, status, verified, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { describeConsole } from './console-tests.ts'

const authority = createAuthority()

describeConsole(
  'the webhooks in the console',
  (test) => {
    let receiver: WebhookReceiver
    beforeAll(async () => {
      receiver = await startReceiver(authority)
    })
    afterAll(() => receiver?.stop())

    const main = () => test.page.getByRole('main')
    const dialog = () => test.page.getByRole('dialog')
    const press = (name: string) => main().getByRole('button', { name, exact: true }).click()
    const confirm = (name: string) => dialog().getByRole('button', { name, exact: true }).click()
    const closed = () => dialog().waitFor({ state: 'detached' })
    const badge = (text: string | RegExp) => main().locator('.badge').getByText(text).waitFor()

    /** The secret of the dialog, which is then closed. */
    async function savedSecret(): Promise<string> {
      const secret = (await dialog().locator('[data-secret]').textContent()) ?? ''
      await dialog().getByLabel('I have saved it').check()
      await confirm('Close')
      await closed()
      expect(await test.page.content()).not.toContain(secret)
      return secret
    }

    it('are created, tested, rotated, disabled and deleted, and say at each step how their delivery goes', async () => {
      await test.console.goTo('/webhooks')
      await main().getByText('None: events stay in the audit trail.').waitFor()
      await press('Create webhook')
      await dialog().getByLabel('Name').fill('siem')
      await dialog().getByLabel('URL').fill(receiver.url)
      await dialog().getByLabel('Types of events').fill('keyturn.iam.*\nkeyturn.webhook.*')
      await dialog().getByLabel('Certificates of authorities').fill(authority.cert)
      await confirm('Create webhook')
      const secret = await savedSecret()
      await main().getByRole('heading', { level: 1, name: 'siem' }).waitFor()
      await main().getByText('keyturn.iam.*, keyturn.webhook.*').waitFor()
      await badge(/^delivered/)
      expect(verified(secret, receiver.received[0]!)).toMatchObject({
        type: 'keyturn.iam.event.v2.WebhookService.CreateWebhook',
      })

      await press('Send a test event')
      await main()
        .getByText(/^The test event was delivered in \d+ ms\.$/)
        .waitFor()
      receiver.answer(status(500))
      await press('Send a test event')
      await main().getByRole('alert').getByText('The test event was not delivered: the receiver').waitFor()
      receiver.answer(status(204))

      await press('Rotate secret')
      await confirm('Rotate')
      const second = await savedSecret()
      await main()
        .getByText(/and by the one before until/)
        .waitFor()
      await test.owner.projects.createProject({ name: 'signed' })
      await eventually(async () => {
        const created = receiver.received.find(({ body }) => body.includes('CreateProject'))
        expect(verified(second, created!)).toBeDefined()
      })

      receiver.answer(status(503))
      await test.owner.projects.createProject({ name: 'waiting' })
      await badge(/^failing for/)
      await main()
        .getByText(/has failed .*: the receiver .*503/)
        .waitFor()
      await test.console.goTo('/webhooks')
      const row = main().getByRole('row').filter({ hasText: 'siem' })
      await row.getByText(/^failing for/).waitFor()
      await row.getByRole('cell', { name: '1', exact: true }).waitFor()
      await row.getByRole('link', { name: 'siem' }).click()
      await main().getByRole('heading', { level: 1, name: 'siem' }).waitFor()

      await press('Disable')
      await confirm('Disable')
      await closed()
      await badge(/^disabled$/)
      receiver.answer(status(410))
      await press('Enable')
      await confirm('Enable')
      await closed()
      await badge('disabled: its receiver is gone')
      await main().getByText('The receiver has answered 410 Gone').waitFor()
      receiver.answer(status(204))
      await press('Enable')
      await confirm('Enable')
      await closed()
      await badge(/^delivered/)

      await press('Change')
      await dialog().getByLabel('Types of events').fill('keyturn.iam.*')
      await dialog().getByLabel('Resources').fill('projects')
      await confirm('Save')
      await closed()
      const { webhooks } = await test.owner.webhooks.listWebhooks({})
      expect(webhooks).toMatchObject([{ name: 'siem', eventTypes: ['keyturn.iam.*'], resources: ['projects'] }])
      await press('Delete')
      await confirm('Delete for good')
      await main().getByText('None: events stay in the audit trail.').waitFor()
    })
  },
  { KEYTURN_OUTBOUND_NETWORKS: '127.0.0.1, ::1' },
)
