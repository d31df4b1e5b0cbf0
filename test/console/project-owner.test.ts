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

  it('begins for an auditor with the audit trail', async () => {
    const { page, faults, close } = await signedIn({ instanceRole: InstanceRole.IAM_AUDITOR })
    await page.getByRole('heading', { name: 'Audit trail' }).waitFor()
    expect(await page.evaluate(OFFERED)).toEqual(['Audit trail', 'Tokens', 'Instance'])
    expect(faults).toEqual([])
    await close()
  })

  it('lets a key operator manage keys', async () => {
    const { page, faults, close } = await signedIn({ instanceRole: InstanceRole.IAM_KEY_OPERATOR })
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Create key' }).waitFor()
    expect(faults).toEqual([])
    await close()
  })
})
