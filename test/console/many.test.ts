import { readFile } from 'node:fs/promises'
import { expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { describeConsole } from './console-tests.ts'

const USERS = 10_000
const EVENTS = 50_000
/** A user who is gone. */
const ACTOR = '00000000-0000-4000-8000-000000000001'

describeConsole('a large instance in the console', (test) => {
  it('shows 10,000 service users a page at a time, and finds one of them', async () => {
    const { page, instance } = test
    const { projects } = await test.owner.projects.listProjects({})
    await sql`
      insert into service_users (user_id, project_id, name, enabled, settings, creation_date)
      select gen_random_uuid(), ${projects[0]!.projectId}::uuid, 'service ' || number, true, '{}', clock_timestamp()
      from generate_series(1, ${USERS}) number`.execute(instance.database.db)
    await test.console.goTo('/users')
    const table = page.getByRole('table', { name: 'Service users' })
    await table.getByRole('row').nth(50).waitFor()
    expect(await table.getByRole('row').count()).toBe(51)
    const first = await table.getByRole('link').first().textContent()
    await page.getByRole('link', { name: 'Next page' }).click()
    await page.getByRole('link', { name: 'First page' }).waitFor()
    await table.getByRole('row').nth(50).waitFor()
    expect(await table.getByRole('link').first().textContent()).not.toBe(first)
    await page.getByLabel('Search by name or client ID').fill(`service ${USERS}`)
    await table.getByRole('link', { name: `service ${USERS}` }).waitFor()
    expect(await table.getByRole('row').count()).toBe(2)
    await page.getByLabel('Search by name or client ID').fill('SERVICE 99')
    await table.getByRole('row').nth(50).waitFor()
    const onFirst = await table.getByRole('link').allTextContents()
    await page.getByRole('link', { name: 'Next page' }).click()
    await table.getByRole('link', { name: onFirst[0]! }).waitFor({ state: 'detached' })
    await table.getByRole('row').nth(50).waitFor()
    const onSecond = await table.getByRole('link').allTextContents()
    expect(onSecond.filter((name) => onFirst.includes(name))).toEqual([])
    for (const name of [...onFirst, ...onSecond]) expect(name).toMatch(/^service 99/)
    expect(new URL(page.url()).hash).toMatch(/^#\/users\?search=SERVICE\+99&page=/)
  })

  it('shows 1,000 pages of the audit trail one at a time, and saves all of them', async () => {
    const { page, instance } = test
    await sql`
      insert into audit_events (event_id, event_date, actor, action, resource, outcome, request_id)
      select gen_random_uuid(), clock_timestamp() - number * interval '1 second', ${ACTOR}, '=1+1', 'users/"x",' || number, 'ok', ''
      from generate_series(1, ${EVENTS}) number`.execute(instance.database.db)
    await test.console.goTo(`/audit?actor=${ACTOR}`)
    const table = page.getByRole('table', { name: 'Events, newest first' })
    await table.getByText('users/"x",50', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Next page' }).click()
    await table.getByText('users/"x",100', { exact: true }).waitFor()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    const lines = (await readFile(await (await saved).path(), 'utf8')).trimEnd().split('\r\n')
    expect(lines).toHaveLength(EVENTS + 1)
    // A spreadsheet takes neither cell for a formula.
    expect(lines[1]).toContain(`,ok,'=1+1,${ACTOR},"users/""x"",1",`)
  })
})
