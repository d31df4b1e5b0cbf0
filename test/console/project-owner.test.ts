import { expect, it } from '@jest/globals'
import { ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { administrationWith } from '../support/administration.ts'
import { newCode } from '../support/console-browser.ts'
import { openPage } from './browser.ts'
import { describeConsole } from './console-tests.ts'

describeConsole('the console of a user with a limited role', (test) => {
  /** Signs a new user in. */
  async function signedIn({ memberOf, instanceRole }: { memberOf?: string; instanceRole?: InstanceRole }) {
    const { owner, instance, browser, server } = test
    const robot = await instance.addRobot()
    const { userId } = robot
    if (instanceRole !== undefined) await owner.users.setInstanceRoles({ userId, instanceRoles: [instanceRole] })
    if (memberOf !== undefined) {
      const role = ProjectMemberRole.PROJECT_OWNER
      await owner.projects.setProjectMember({ projectId: memberOf, userId, role })
    }
    const token = await instance.accessToken(robot, SERVICE_AUDIENCE_SCOPE)
    const at = `#code=${await newCode(administrationWith(server, token))}`
    return { ...(await openPage(browser, server, { at })), userId }
  }

  /** What the navigation offers. */
  const OFFERED = `[...document.querySelectorAll('nav a')].map((link) => link.textContent.trim())`

  it('offers a project owner its projects and users, and asks for nothing that is refused', async () => {
    const { owner } = test
    const { projectId } = (await owner.projects.createProject({ name: 'team' })).project!
    await owner.projects.createProject({ name: 'hidden' })
    await owner.users.createServiceUser({ projectId, name: 'worker' })
    const { page, faults, close, userId } = await signedIn({ memberOf: projectId })
    await page.getByRole('link', { name: 'worker' }).click()
    await page.getByRole('heading', { name: 'worker' }).waitFor()
    expect(await page.evaluate(OFFERED)).toEqual(['Service users', 'Projects', 'Tokens'])
    await page.getByRole('link', { name: 'Projects', exact: true }).first().click()
    await page.getByRole('link', { name: 'team' }).click()
    await page.getByText('New role').waitFor()
    expect(await page.getByText('New audience').count()).toBe(0)
    expect(faults).toEqual([])
    await close()
    const { events } = await owner.audit.listAuditEvents({ actor: userId })
    expect(events.filter(({ outcome }) => outcome !== 'ok')).toEqual([])
  })

  it('lets a project owner create a user, give it a secret and make it a member, and offers nothing over others', async () => {
    const { owner } = test
    const { projectId } = (await owner.projects.createProject({ name: 'shop' })).project!
    const boss = (await owner.users.createServiceUser({ projectId, name: 'boss' })).serviceUser!
    await owner.users.setInstanceRoles({ userId: boss.userId, instanceRoles: [InstanceRole.IAM_OWNER] })
    const { page, goTo, faults, close, userId } = await signedIn({ memberOf: projectId })
    const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    const region = (name: string) => page.getByRole('region', { name, exact: true })
    const dialog = page.getByRole('dialog')
    /** The buttons of a page, without those that copy. */
    const offered = async () =>
      (await page.getByRole('main').getByRole('button').allTextContents()).filter((text) => text !== '')

    await page.getByRole('link', { name: 'Projects', exact: true }).first().click()
    await page.getByRole('link', { name: 'shop' }).click()
    await heading('shop')
    await page.getByRole('button', { name: 'Add member' }).waitFor()
    expect(await offered()).toEqual(['Create user', 'Add', 'Add', 'Remove', 'Add member'])
    await region('Service users').getByRole('button', { name: 'Create user' }).click()
    await dialog.getByLabel('Name').fill('worker')
    await dialog.getByRole('button', { name: 'Create user' }).click()
    await heading('worker')
    await region('Access tokens').getByText('1 h, as for all users').waitFor()
    await region('Client secrets').getByRole('button', { name: 'Generate secret' }).click()
    await dialog.getByRole('button', { name: 'Generate' }).click()
    await dialog.getByLabel('I have saved it').check()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await region('Client secrets').getByText('longer than a token lives (1 h)').waitFor({ state: 'attached' })

    await goTo(`/projects/${projectId}`)
    const members = region('Members')
    await members.getByLabel('User of the project').selectOption({ label: await labelOf('worker') })
    await members.getByLabel('Role over the project').selectOption('PROJECT_OWNER_VIEWER')
    await members.getByRole('button', { name: 'Add member' }).click()
    await members.getByRole('row').filter({ hasText: 'worker' }).getByText('PROJECT_OWNER_VIEWER').waitFor()
    await members.getByRole('button', { name: 'Take the role from worker' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await members.getByRole('row').filter({ hasText: 'worker' }).waitFor({ state: 'detached' })

    await goTo(`/users/${boss.userId}`)
    await heading('boss')
    expect(await offered()).toEqual([])
    await goTo(`/users/${userId}`)
    await region('Client secrets').waitFor()
    expect(await offered()).toEqual([])
    expect(faults).toEqual([])
    await close()
    const { events } = await owner.audit.listAuditEvents({ actor: userId })
    expect(events.filter(({ outcome }) => outcome !== 'ok')).toEqual([])
  })

  /** What a choice of users calls one. */
  async function labelOf(name: string): Promise<string> {
    const { serviceUsers } = await test.owner.users.listServiceUsers({ search: name })
    const { userId } = serviceUsers.find((user) => user.name === name && !user.clientId.endsWith('@team'))!
    return `${name} (${userId.slice(0, 8)}…)`
  }

  it('keeps a secret that it shows once when its rights end elsewhere, and offers no more of it', async () => {
    const { owner, instance } = test
    const { page, goTo, faults, close, userId } = await signedIn({ instanceRole: InstanceRole.IAM_OWNER })
    const dialog = page.getByRole('dialog')
    const button = page.getByRole('main').locator('button', { hasText: 'Generate secret' })
    await goTo(`/users/${(await instance.addRobot()).userId}`)
    await button.click()
    await dialog.getByRole('button', { name: 'Generate' }).click()
    await dialog.locator('[data-secret]').waitFor()
    await owner.users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
    await button.waitFor({ state: 'detached' })
    expect(await dialog.locator('[data-secret]').textContent()).toMatch(/^ktn_cs_/)
    expect(faults).toEqual([])
    await close()
  })

  it('begins for an auditor with the audit trail', async () => {
    const { page, faults, close } = await signedIn({ instanceRole: InstanceRole.IAM_AUDITOR })
    await page.getByRole('heading', { name: 'Audit trail' }).waitFor()
    expect(await page.evaluate(OFFERED)).toEqual(['Audit trail', 'Tokens', 'Instance'])
    expect(faults).toEqual([])
    await close()
  })
})
