import { beforeAll, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { administrationWith } from '../support/administration.ts'
import type { Robot } from '../support/oauth-instance.ts'
import { type ConsolePage, signIn } from './browser.ts'
import { describeConsole } from './console-tests.ts'

describeConsole('the console while things change', (test) => {
  const administrationBy = async (robot: Robot) =>
    administrationWith(test.server, await test.instance.accessToken(robot, SERVICE_AUDIENCE_SCOPE))

  beforeAll(() => test.owner.projects.createProject({ name: 'warehouse' }))

  it('shows to two browsers what either of them changes', async () => {
    const other = await signIn(test.browser, test.server, { user: test.owner })
    await test.console.goTo('/projects')
    await other.goTo('/projects')
    await other.page.getByRole('button', { name: 'Create project' }).click()
    await other.page.getByLabel('Name').fill('store')
    await other.page.getByRole('dialog').getByRole('button', { name: 'Create project' }).click()
    await other.page.getByRole('heading', { name: 'store' }).waitFor()
    await test.page.getByRole('link', { name: 'store' }).waitFor()
    await test.page.getByRole('link', { name: 'store' }).click()
    await test.page.getByLabel('New role').fill('reader')
    await test.page.getByLabel('New role').press('Enter')
    await other.page.getByRole('listitem').getByText('reader').waitFor()
    const ask = async ({ page }: Pick<ConsolePage, 'page'>) => {
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      return page.getByRole('dialog')
    }
    const open = await ask(test)
    await (await ask(other)).getByRole('button', { name: 'Delete for good' }).click()
    await test.page.getByText('There is no project').waitFor()
    expect([await open.count(), await test.page.getByLabel('New role').count()]).toEqual([1, 0])
    expect(other.faults).toEqual([])
    await other.close()
  })

  it('offers to a viewer nothing that it may not do', async () => {
    const robot = await test.instance.addRobot({ instanceRoles: ['IAM_OWNER_VIEWER'] })
    const viewer = await signIn(test.browser, test.server, { user: await administrationBy(robot) })
    await viewer.page.getByRole('table', { name: /^Keys/ }).waitFor()
    for (const name of ['Rotate now', 'Create key', 'Change policy', /^Revoke/, /^Activate/]) {
      expect(await viewer.page.getByRole('button', { name }).count()).toBe(0)
    }
    await viewer.goTo(`/users/${robot.userId}`)
    await viewer.page.getByRole('heading', { name: 'Client secrets' }).waitFor()
    expect(
      await viewer.page
        .getByRole('main')
        .getByRole('button', { name: /^(?!Copy)/ })
        .count(),
    ).toBe(0)
    for (const [place, heading, name] of [
      ['/issuers', 'Trusted issuers', 'Trust issuer'],
      ['/tokens', 'Tokens', 'Get a token'],
    ] as const) {
      await viewer.goTo(place)
      await viewer.page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      expect(await viewer.page.getByRole('button', { name }).count()).toBe(0)
    }
    expect(viewer.faults).toEqual([])
    await viewer.close()
  })

  it('offers no more than its user may do when that shrinks', async () => {
    const robot = await test.instance.addRobot({ instanceRoles: ['IAM_OWNER'] })
    const viewer = await signIn(test.browser, test.server, { user: await administrationBy(robot) })
    const button = viewer.page.getByRole('button', { name: 'Create key' })
    await button.waitFor()
    await test.owner.users.setInstanceRoles({ userId: robot.userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
    await button.waitFor({ state: 'detached' })
    await test.owner.users.setInstanceRoles({ userId: robot.userId, instanceRoles: [] })
    await viewer.page.getByRole('heading', { name: 'You may not use the console any more' }).waitFor()
    await viewer.close()
  })

  it('says which requests a person caused, because only those keep the session in use', async () => {
    const kinds = (path: string) =>
      requests.filter(({ url }) => url.endsWith(path)).map(({ headers }) => headers['x-keyturn-console'])
    const requests: { url: string; headers: Record<string, string> }[] = []
    test.page.on('request', (request) => requests.push({ url: request.url(), headers: request.headers() }))
    await test.console.goTo('/projects')
    await test.page.getByRole('link', { name: 'warehouse' }).waitFor()
    await test.owner.projects.createProject({ name: 'made-elsewhere' })
    await test.page.getByRole('link', { name: 'made-elsewhere' }).waitFor()
    const [first, ...later] = kinds('/ListProjects')
    expect(first).toBe('1')
    // A change of an earlier test may be noticed only now.
    expect(new Set(later)).toEqual(new Set(['background']))
    expect(new Set(kinds('/GetInstance'))).toEqual(new Set(['background']))
  })

  it('shows what it loads, also if the instance changes during each load', async () => {
    let changes = 0
    await test.console.goTo('/keys')
    await test.page.getByText('What happens next').waitFor()
    await test.page.route('**/ListProjects', async (route) => {
      changes += 1
      const { project } = await test.owner.projects.createProject({ name: `made-during-load-${changes}` })
      expect(project).toBeDefined()
      // Once for the poll that may be under way.
      for (let poll = 0; poll < 2; poll += 1) {
        await test.page.waitForResponse((response) => response.url().endsWith('/GetInstance'))
      }
      await route.continue()
    })
    await test.console.goTo('/projects')
    await test.page.getByRole('link', { name: 'made-during-load-1' }).waitFor()
    await test.page.unrouteAll({ behavior: 'wait' })
    await test.page.getByRole('link', { name: `made-during-load-${changes}`, exact: true }).waitFor()
  })

  it('says how old it is while the server is away, and goes on when it is back', async () => {
    await test.console.goTo('/keys')
    await test.page.getByText('What happens next').waitFor()
    await test.page.route('**/console/api/**', (route) => route.abort())
    await test.page
      .getByRole('alert')
      .getByText(/The server did not answer\. What is shown is \d+ s old\./)
      .waitFor()
    expect(await test.page.getByText('What happens next').count()).toBe(1)
    await test.page.unroute('**/console/api/**')
    // A load that failed says so beside the banner.
    await test.page.getByRole('alert').first().waitFor({ state: 'detached' })
  })
})
