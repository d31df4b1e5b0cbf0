import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { type Administration, administrationOf, administrationWith, refusalOf } from '../support/administration.ts'
import { type ConsoleBrowser, newCode, openBrowser } from '../support/console-browser.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'

const LIST_PROJECTS = 'iam.project.v2.ProjectService/ListProjects'
const CREATE_PROJECT = 'iam.project.v2.ProjectService/CreateProject'

let instance: OAuthInstance
let other: Keyturn
let owner: Administration
beforeAll(async () => {
  instance = await startOAuthInstance()
  other = await instance.startReplica()
  owner = await administrationOf(instance.keyturn)
})
afterAll(() => instance?.stop())

/** A user with a role, and its clients. */
async function newUser(role = InstanceRole.IAM_OWNER): Promise<Administration & { robot: Robot }> {
  const robot = await instance.addRobot()
  await owner.users.setInstanceRoles({ userId: robot.userId, instanceRoles: [role] })
  const token = await instance.accessToken(robot, SERVICE_AUDIENCE_SCOPE)
  return { ...administrationWith(instance.keyturn, token), robot }
}

async function signedIn(user: Pick<Administration, 'console'> = owner): Promise<ConsoleBrowser> {
  const browser = openBrowser(instance.keyturn)
  expect((await browser.signIn(await newCode(user))).status).toBe(204)
  return browser
}

const errorOf = async (response: Response) => {
  const { code, details = [] } = (await response.json()) as { code: string; details?: { debug: { reason: string } }[] }
  return { status: response.status, code, reason: details[0]?.debug.reason }
}
const INVALID_LINK = { status: 401, code: 'unauthenticated', reason: 'SIGN_IN_LINK_INVALID' }
const NO_SESSION = { status: 401, code: 'unauthenticated', reason: 'CONSOLE_SESSION_INVALID' }
const later = (sql: string) =>
  instance.database.db.executeQuery({ sql, parameters: [], query: {} as never, queryId: {} as never })

describe('signing in at the console', () => {
  it('takes a link of the base URL, with the code in the fragment, for a minute', async () => {
    const { url, expirationDate } = await owner.console.createSignInLink({})
    expect(url).toMatch(new RegExp(`^${instance.keyturn.baseUrl}/console/#code=ktn_link_[\\w-]{59}$`))
    const seconds = Number(expirationDate!.seconds) - Date.now() / 1000
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(61)
  })

  it('gives a cookie for the console alone, which no script can read', async () => {
    const response = await openBrowser(instance.keyturn).signIn(await newCode(owner))
    expect(response.status).toBe(204)
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^keyturn_console=ktn_session_[\w-]{59}; Path=\/console; HttpOnly; SameSite=Strict; Max-Age=28800$/,
      ),
    ])
  })

  it('uses the code up, on all replicas', async () => {
    const code = await newCode(owner)
    expect((await openBrowser(other).signIn(code)).status).toBe(204)
    expect(await errorOf(await openBrowser(other).signIn(code))).toEqual(INVALID_LINK)
    expect(await errorOf(await openBrowser(instance.keyturn).signIn(code))).toEqual(INVALID_LINK)
  })

  it('opens one session if browsers use a code at the same time on two replicas', async () => {
    const code = await newCode(owner)
    const answers = await Promise.all(
      [instance.keyturn, other, instance.keyturn, other].map((replica) => openBrowser(replica).signIn(code)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401, 401, 401])
  })

  it('works on every replica', async () => {
    const browser = await signedIn()
    for (const replica of [instance.keyturn, other]) {
      expect((await browser.call(LIST_PROJECTS, {}, replica)).status).toBe(200)
    }
  })
})
