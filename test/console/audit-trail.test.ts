import { readFile } from 'node:fs/promises'
import { beforeAll, expect, it } from '@jest/globals'
import { describeConsole } from './console-tests.ts'

describeConsole('the audit trail in the console', (test) => {
  const events = () => test.page.getByRole('table', { name: 'Events, newest first' })

  let shop: string
  beforeAll(async () => {
    shop = `projects/${(await test.owner.projects.createProject({ name: 'shop' })).project!.projectId}`
  })

  const exported = async (button: string) => {
    const saved = test.page.waitForEvent('download')
    await test.page.getByRole('button', { name: button }).click()
    return await readFile(await (await saved).path(), 'utf8')
  }

  it('is filtered by what is in the address', async () => {
    await test.console.goTo('/audit?actor=system')
    await events().getByText('bootstrap').first().waitFor()
    expect(await events().getByText('CreateProject').count()).toBe(0)
    expect(await test.page.getByLabel('Actor', { exact: true }).inputValue()).toBe('system')
  })

  it('puts the filters into the address', async () => {
    await test.console.goTo('/audit?actor=system')
    await events().getByText('bootstrap').first().waitFor()
    await test.page.getByLabel('Actor', { exact: true }).fill('')
    await test.page.getByLabel('Resource', { exact: true }).fill(shop)
    await test.page.getByRole('button', { name: 'Apply' }).click()
    await events().getByText('CreateProject').waitFor()
    expect(await events().getByRole('row').count()).toBe(2)
    expect(new URL(test.page.url()).hash).toBe(`#/audit?resource=${encodeURIComponent(shop)}`)
  })

  it('finds a user by name, and says when there is none', async () => {
    await test.console.goTo('/audit?actor=administrator')
    await events().getByText('CreateProject').waitFor()
    const { client_id } = await test.server.admin()
    await test.console.goTo(`/audit?resource=users%2F${encodeURIComponent(client_id)}`)
    await events().getByText('CreateSignInLink').first().waitFor()
    for (const filter of ['actor=nobody', 'resource=users%2Fnobody']) {
      await test.console.goTo(`/audit?${filter}`)
      await test.page.getByText('There is no service user "nobody"').waitFor()
      expect(await test.page.getByText('No event fits.').count()).toBe(0)
    }
  })

  it('is saved as CSV and as JSON lines', async () => {
    await test.console.goTo(`/audit?resource=${encodeURIComponent(shop)}`)
    await events().getByText('CreateProject').waitFor()
    const csv = await exported('Export CSV')
    expect(csv).toMatch(
      /^event_date,outcome,action,actor,resource,.*\r\n\d{4}-[^,]*\.\d{3}Z,ok,iam\.project\.v2\.ProjectService\/CreateProject,/,
    )
    const lines = (await exported('Export JSON lines')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ outcome: 'ok' }])
  })

  it('shows who was refused', async () => {
    const { token_endpoint, client_id } = await test.server.admin()
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret: 'wrong' })
    await fetch(token_endpoint, { method: 'POST', body })
    await test.console.goTo('/audit?actor=anonymous')
    await events().getByText('INVALID_CLIENT').waitFor()
  })
})
