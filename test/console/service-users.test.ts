import { beforeAll, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { eventually } from '../support/eventually.ts'
import { requestToken } from '../support/keyturn.ts'
import { describeConsole } from './console-tests.ts'

const MARKUP = '<img src=x onerror="alert(1)">'

describeConsole('the service users in the console', (test) => {
  const dialog = () => test.page.getByRole('dialog')
  const secrets = () => test.page.getByRole('region', { name: 'Client secrets' })
  let user: { readonly userId: string; readonly clientId: string }
  beforeAll(async () => {
    const { projects } = await test.owner.projects.listProjects({})
    const { projectId } = projects[0]!
    user = (await test.owner.users.createServiceUser({ projectId, name: 'robot', clientCredentialsEnabled: true }))
      .serviceUser!
  })
  const goToUser = async () => {
    await test.console.goTo(`/users/${user.userId}`)
    await test.page.getByRole('heading', { level: 1 }).waitFor()
  }

  it('are created with a name that is shown as it is', async () => {
    await test.console.goTo('/users')
    await test.page.getByRole('button', { name: 'Create user' }).click()
    await dialog().getByLabel('Name').fill(MARKUP)
    await dialog().getByRole('button', { name: 'Create user' }).click()
    await test.page.getByRole('heading', { name: MARKUP }).waitFor()
    const { serviceUsers } = await test.owner.users.listServiceUsers({})
    const created = serviceUsers.find(({ name }) => name === MARKUP)
    expect(new URL(test.page.url()).hash).toBe(`#/users/${created!.userId}`)
  })

  it('get a secret that is shown once, and only closed when it is saved', async () => {
    await goToUser()
    await secrets().getByRole('button', { name: 'Generate secret' }).click()
    await dialog().getByRole('button', { name: 'Generate' }).click()
    const secret = (await dialog().locator('[data-secret]').textContent()) ?? ''
    expect(secret).toMatch(/^ktn_cs_/)
    await test.page.keyboard.press('Escape')
    await test.page.keyboard.press('Escape')
    expect(await dialog().getByRole('button', { name: 'Close' }).isDisabled()).toBe(true)
    const mayBeLeft = "dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    const { page } = test
    const place = page.url()
    await page.evaluate("new Promise((go) => { addEventListener('hashchange', go, { once: true }); history.back() })")
    expect([page.url(), await page.evaluate(mayBeLeft)]).toEqual([place, false])
    expect(await dialog().textContent()).toContain(secret)
    await dialog().getByLabel('I have saved it').check()
    await eventually(async () => expect(await page.evaluate(mayBeLeft)).toBe(true))
    await dialog().getByRole('button', { name: 'Close' }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await test.page.content()).not.toContain(secret)
    const replica = await test.instance.startReplica()
    const token_endpoint = `${replica.listenUrl}/oauth/v2/token`
    await requestToken({
      ...(await test.server.admin()),
      token_endpoint,
      client_id: user.clientId,
      client_secret: secret,
    })
    // It writes the use now, and not within a minute. That makes no new version.
    await replica.stop()
    await secrets()
      .getByRole('row')
      .filter({ hasText: 'live' })
      .getByText(/ago|now/)
      .first()
      .waitFor()
  })

  it('get roles and scopes, and lose them', async () => {
    const { projects } = await test.owner.projects.listProjects({})
    const { projectId } = projects[0]!
    await test.owner.projects.addProjectRole({ projectId, role: 'reader' })
    await goToUser()
    const access = test.page.getByRole('region', { name: 'Access' })
    await access.getByLabel('Role', { exact: true }).selectOption({ label: 'reader' })
    await access.getByRole('button', { name: 'Add' }).nth(1).click()
    await access.getByRole('listitem').getByText('keyturn: reader').waitFor()
    await access.getByRole('button', { name: 'Remove keyturn: reader' }).click()
    await dialog().getByText('Tokens that have it keep it until they expire').waitFor()
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await access.getByRole('listitem').getByText('keyturn: reader').waitFor({ state: 'detached' })
    const { IAM_AUDITOR, IAM_OWNER_VIEWER } = InstanceRole
    const setRoles = (...instanceRoles: InstanceRole[]) =>
      test.owner.users.setInstanceRoles({ userId: user.userId, instanceRoles })
    await setRoles(IAM_AUDITOR, IAM_OWNER_VIEWER)
    await access.getByRole('button', { name: 'Remove IAM_AUDITOR' }).click()
    await setRoles(IAM_AUDITOR)
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await dialog().waitFor({ state: 'detached' })
    const { serviceUser } = await test.owner.users.getServiceUser({ userId: user.userId })
    expect(serviceUser?.instanceRoles).toEqual([])
  })

  it('get a client certificate, and settings of which only those are written that were changed', async () => {
    await goToUser()
    const certificates = test.page.getByRole('region', { name: 'Client certificates' })
    await certificates.getByRole('button', { name: 'Add certificate' }).click()
    await dialog().getByLabel('Value').fill('checkout.example.com')
    await dialog().getByRole('button', { name: 'Add certificate' }).click()
    await certificates.getByRole('cell', { name: 'checkout.example.com', exact: true }).waitFor()
    await test.page.getByRole('button', { name: 'Change settings' }).click()
    const { userId } = user
    await test.owner.users.updateServiceUser({ userId, name: 'renamed', updateMask: { paths: ['name'] } })
    await test.page.getByRole('heading', { name: 'renamed', exact: true }).waitFor()
    await dialog().getByLabel('A token lifetime of its own').check()
    await dialog().getByLabel('Lifetime of its tokens', { exact: true }).fill('0.25')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'detached' })
    const { serviceUser } = await test.owner.users.getServiceUser({ userId })
    expect(serviceUser).toMatchObject({ name: 'renamed', tokenLifetime: { seconds: 900n } })
  })

  it('are found by a part of their name, which is in the address', async () => {
    const { projects } = await test.owner.projects.listProjects({})
    for (const name of ['checkout', 'invoices']) {
      await test.owner.users.createServiceUser({ projectId: projects[0]!.projectId, name })
    }
    await test.console.goTo('/users')
    await test.page.getByRole('link', { name: 'checkout' }).waitFor()
    await test.page.getByLabel('Search by name or client ID').fill('INVOI')
    await test.page.getByRole('link', { name: 'checkout' }).waitFor({ state: 'detached' })
    await test.page.getByRole('link', { name: 'invoices' }).waitFor()
    expect(new URL(test.page.url()).hash).toBe('#/users?search=INVOI')
    await test.page.reload()
    await test.page.getByRole('link', { name: 'invoices' }).waitFor()
    expect(await test.page.getByRole('link', { name: 'checkout' }).count()).toBe(0)
  })
})
