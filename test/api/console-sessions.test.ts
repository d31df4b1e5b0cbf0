import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { type Administration, administrationOf, administrationWith } from '../support/administration.ts'
import { type ConsoleBrowser, newCode, openBrowser } from '../support/console-browser.ts'
import { secondsSinceUse, seedSession } from '../support/console-seed.ts'
import { eventually } from '../support/eventually.ts'
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

/** A personal access token of a user that works for so many seconds. */
async function newPersonalAccessToken({ users }: Administration, userId: string, seconds: number): Promise<string> {
  const expirationDate = timestampFromMs(Date.now() + seconds * 1000)
  return (await users.createPersonalAccessToken({ userId, expirationDate })).token
}

const errorOf = async (response: Response) => {
  const { code, details = [] } = (await response.json()) as { code: string; details?: { debug: { reason: string } }[] }
  return { status: response.status, code, reason: details[0]?.debug.reason }
}
const INVALID_LINK = { status: 401, code: 'unauthenticated', reason: 'SIGN_IN_LINK_INVALID' }
const NO_SESSION = { status: 401, code: 'unauthenticated', reason: 'CONSOLE_SESSION_INVALID' }

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

  it('notes an attempt with an invented code in the audit trail', async () => {
    expect(await errorOf(await openBrowser(other).signIn('invented'))).toEqual(INVALID_LINK)
    await eventually(async () => {
      const { events } = await owner.audit.listAuditEvents({ actor: 'anonymous' })
      expect(events).toContainEqual(
        expect.objectContaining({ action: 'console/sign_in', outcome: 'SIGN_IN_LINK_INVALID', resource: '' }),
      )
    })
  })

  it('takes no code for a cookie, and no cookie for a code', async () => {
    const browser = await signedIn()
    const cookie = browser.cookie!.split('=')[1]!
    expect(await errorOf(await openBrowser(instance.keyturn).signIn(cookie))).toEqual(INVALID_LINK)
    browser.cookie = `keyturn_console=${await newCode(owner)}`
    expect(await errorOf(await browser.call(LIST_PROJECTS))).toEqual(NO_SESSION)
  })

  it.each([
    ['a form', 'application/x-www-form-urlencoded', 'code=1'],
    ['JSON that a form can send', 'text/plain', '{"code":"1"}'],
    ['more than a code', 'application/json', JSON.stringify({ code: 'x'.repeat(2000) })],
  ])('refuses %s', async (_, type, body) => {
    const headers = { 'content-type': type }
    const response = await openBrowser(instance.keyturn).send('/console/session', { method: 'POST', headers, body })
    expect(await errorOf(response)).toEqual({ status: 400, code: 'invalid_argument', reason: 'INVALID_ARGUMENT' })
  })

  it('makes no more than 10 sessions of a user: the one that was idle longest gives way, which is an event', async () => {
    const user = await newUser()
    const { userId } = user.robot
    const { cookie, sessionId } = await seedSession(instance, userId, { created: -900, expires: 900, lastUse: -600 })
    for (let count = 0; count < 9; count += 1) await signedIn(user)
    const asked = openBrowser(instance.keyturn)
    asked.cookie = cookie
    expect((await asked.send('/console/session', { headers: { 'x-keyturn-console': 'background' } })).status).toBe(200)
    await signedIn(user)
    expect(await errorOf(await asked.call(LIST_PROJECTS))).toEqual(NO_SESSION)
    const { events } = await owner.audit.listAuditEvents({ resource: `users/${userId}/sessions/${sessionId}` })
    expect(events).toMatchObject([{ actor: userId, action: 'console/replaced', outcome: 'ok' }])
  })

  it('makes no links for a session, which could outlive itself by them', async () => {
    const browser = await signedIn()
    const refused = await errorOf(await browser.call('iam.console.v2.ConsoleService/CreateSignInLink'))
    expect(refused).toEqual({ status: 403, code: 'permission_denied', reason: 'SIGN_IN_BY_SESSION' })
  })
})

describe('a session of the console', () => {
  it('works on every replica, with what its user may do', async () => {
    const browser = await signedIn(await newUser(InstanceRole.IAM_OWNER_VIEWER))
    for (const replica of [instance.keyturn, other]) {
      expect((await browser.call(LIST_PROJECTS, {}, replica)).status).toBe(200)
      expect(await errorOf(await browser.call(CREATE_PROJECT, { name: 'by-viewer' }, replica))).toEqual({
        status: 403,
        code: 'permission_denied',
        reason: 'PERMISSION_MISSING',
      })
    }
  })

  it('changes the instance in the name of its user', async () => {
    const user = await newUser()
    const browser = await signedIn(user)
    const response = await browser.call(CREATE_PROJECT, { name: 'by-session' }, other)
    const { project } = (await response.json()) as { project: { projectId: string } }
    const { events } = await owner.audit.listAuditEvents({ resource: `projects/${project.projectId}` })
    expect(events).toMatchObject([{ actor: user.robot.userId, action: CREATE_PROJECT, outcome: 'ok' }])
  })

  it('says whose it is, until when, and what it may do', async () => {
    const user = await newUser(InstanceRole.IAM_OWNER_VIEWER)
    const browser = await signedIn(user)
    const response = await browser.send('/console/session', {}, other)
    const { userId, clientId } = user.robot
    const described = (await response.json()) as { expiresAt: string; permissions: string[] }
    expect(described).toEqual({
      userId,
      name: expect.any(String),
      clientId,
      expiresAt: expect.any(String),
      permissions: expect.arrayContaining(['iam.web_key.read', 'iam.console.read']),
      instanceRoles: ['IAM_OWNER_VIEWER'],
      managedProjects: {},
      tokenLifetimeSeconds: 3600,
    })
    expect(described.permissions).not.toContain('iam.web_key.write')
    expect(Date.parse(described.expiresAt)).toBe(decodeJwt(user.token).exp! * 1000)
  })

  it.each([
    ['disabled', (userId: string) => owner.users.disableServiceUser({ userId })],
    ['deleted', (userId: string) => owner.users.deleteServiceUser({ userId })],
    ['asked to get new tokens', (userId: string) => owner.users.revokeTokens({ userId })],
    [
      'given a further role over the instance',
      (userId: string) =>
        owner.users.setInstanceRoles({
          userId,
          instanceRoles: [InstanceRole.IAM_USER_ADMINISTRATOR, InstanceRole.IAM_KEY_OPERATOR],
        }),
    ],
    [
      'kept from client credentials',
      (userId: string) =>
        owner.users.updateServiceUser({
          userId,
          clientCredentialsEnabled: false,
          updateMask: { paths: ['client_credentials_enabled'] },
        }),
    ],
  ])('ends on every replica when its user is %s, and so do links and tokens', async (_, change) => {
    const user = await newUser(InstanceRole.IAM_USER_ADMINISTRATOR)
    const browser = await signedIn(user)
    const code = await newCode(user)
    expect((await browser.call(LIST_PROJECTS, {}, other)).status).toBe(200)
    await change(user.robot.userId)
    expect(await errorOf(await browser.call(LIST_PROJECTS, {}, other))).toEqual(NO_SESSION)
    expect(await errorOf(await browser.send('/console/session'))).toEqual(NO_SESSION)
    expect(await errorOf(await openBrowser(other).signIn(code))).toEqual(INVALID_LINK)
    expect(await user.post(LIST_PROJECTS)).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
  })

  it('goes on when its user gets a role that includes nothing further, or loses one', async () => {
    const user = await newUser(InstanceRole.IAM_OWNER_VIEWER)
    const browser = await signedIn(user)
    const { userId, project } = user.robot
    const viewer = ProjectMemberRole.PROJECT_OWNER_VIEWER
    await owner.projects.setProjectMember({ projectId: project.projectId, userId, role: viewer })
    await owner.users.setInstanceRoles({ userId, instanceRoles: [] })
    expect((await browser.call(LIST_PROJECTS, {}, other)).status).toBe(200)
  })

  it('ends on every replica with the access token that made its link, and so does the link', async () => {
    const user = await newUser()
    const [browser, code] = [await signedIn(user), await newCode(user)]
    const { clientId: client_id, clientSecret: client_secret } = user.robot
    const body = new URLSearchParams({ client_id, client_secret, token: user.token })
    expect((await instance.fetch('/oauth/v2/revoke', { method: 'POST', body })).status).toBe(200)
    expect(await errorOf(await browser.call(LIST_PROJECTS))).toEqual(NO_SESSION)
    expect(await errorOf(await browser.call(CREATE_PROJECT, { name: 'by-revoked' }, other))).toEqual(NO_SESSION)
    expect(await errorOf(await openBrowser(instance.keyturn).signIn(code))).toEqual(INVALID_LINK)
  })

  it('ends on every replica with the personal access token that made its link, and so does the link', async () => {
    const { robot } = await newUser()
    const token = await newPersonalAccessToken(owner, robot.userId, 3600)
    const user = administrationWith(instance.keyturn, token)
    const [browser, code] = [await signedIn(user), await newCode(user)]
    const { userId } = robot
    const [{ tokenId = '' } = {}] = (await owner.users.listPersonalAccessTokens({ userId })).personalAccessTokens
    await owner.users.revokePersonalAccessToken({ userId, tokenId })
    expect(await errorOf(await browser.call(LIST_PROJECTS, {}, other))).toEqual(NO_SESSION)
    expect(await errorOf(await openBrowser(other).signIn(code))).toEqual(INVALID_LINK)
  })

  it('is used by what a person does, and not by what the page asks by itself; that is noted once a minute', async () => {
    const user = await newUser()
    const browser = openBrowser(other)
    const seeded = await seedSession(instance, user.robot.userId, { created: -3600, expires: 3600, lastUse: -600 })
    browser.cookie = seeded.cookie
    const background = { headers: { 'x-keyturn-console': 'background', 'content-type': 'application/json' } }
    const init = { method: 'POST', body: '{}', ...background }
    expect((await browser.send(`/console/api/${LIST_PROJECTS}`, init)).status).toBe(200)
    expect(await secondsSinceUse(instance, seeded.sessionId)).toBeGreaterThan(590)
    expect((await browser.call(LIST_PROJECTS)).status).toBe(200)
    expect(await secondsSinceUse(instance, seeded.sessionId)).toBeLessThan(60)

    const recent = await seedSession(instance, user.robot.userId, { created: -3600, expires: 3600, lastUse: -30 })
    browser.cookie = recent.cookie
    expect((await browser.call(LIST_PROJECTS)).status).toBe(200)
    expect(await secondsSinceUse(instance, recent.sessionId)).toBeGreaterThan(29)
    // Its end is a date of the database, from which the clock of this machine may differ by 30 seconds.
    const ending = await seedSession(instance, user.robot.userId, { created: -3600, expires: 25, lastUse: -30 })
    browser.cookie = ending.cookie
    expect(await errorOf(await browser.call(LIST_PROJECTS))).toEqual(NO_SESSION)
  })

  it('is listed, and can be revoked, which ends it on every replica', async () => {
    const user = await newUser()
    const browser = await signedIn(user)
    const { sessions } = await owner.console.listSessions({ pageSize: 1000 })
    const session = sessions.find(({ userId }) => userId === user.robot.userId)!
    expect(session).toMatchObject({ clientAddress: '127.0.0.1' })
    const request = { sessionId: session.sessionId }
    await owner.console.revokeSession(request)
    expect(await errorOf(await browser.call(LIST_PROJECTS, {}, other))).toEqual(NO_SESSION)
    const again = await owner.post('iam.console.v2.ConsoleService/RevokeSession', request)
    expect(again).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  it('ends when its user signs out, which takes the cookie away, and can be repeated', async () => {
    const browser = await signedIn()
    const { cookie } = browser
    const response = await browser.send('/console/session', { method: 'DELETE' }, other)
    expect(response.status).toBe(204)
    expect(response.headers.getSetCookie()).toEqual([
      'keyturn_console=; Path=/console; HttpOnly; SameSite=Strict; Max-Age=0',
    ])
    browser.cookie = cookie
    expect(await errorOf(await browser.call(LIST_PROJECTS))).toEqual(NO_SESSION)
    expect((await browser.send('/console/session', { method: 'DELETE' })).status).toBe(204)
    expect((await browser.send('/console/session', { method: 'DELETE' })).status).toBe(204)
  })

  it('is in the audit trail from the link to its end', async () => {
    const user = await newUser()
    const { userId } = user.robot
    const browser = await signedIn(user)
    await browser.send('/console/session', { method: 'DELETE' }, other)
    const { events } = await owner.audit.listAuditEvents({ actor: userId })
    const session = expect.stringMatching(new RegExp(`^users/${userId}/sessions/[\\w-]{36}$`))
    expect(
      events.map(({ action, resource, outcome, clientAddress }) => [action, resource, outcome, clientAddress]),
    ).toEqual([
      ['console/sign_out', session, 'ok', '127.0.0.1'],
      ['console/sign_in', session, 'ok', '127.0.0.1'],
      ['iam.console.v2.ConsoleService/CreateSignInLink', `users/${userId}/sign_in_links`, 'ok', '127.0.0.1'],
    ])
  })
})

describe('the cookie and the token', () => {
  const at = (path: string, headers: Record<string, string>) =>
    instance.fetch(path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' })

  it('of the console are no token at the paths of the API', async () => {
    const { cookie } = await signedIn()
    const refused = await errorOf(await at(`/${LIST_PROJECTS}`, { cookie: cookie!, 'x-keyturn-console': '1' }))
    expect(refused).toEqual({ status: 401, code: 'unauthenticated', reason: 'TOKEN_MISSING' })
    const bearer = { authorization: `Bearer ${cookie!.split('=')[1]}` }
    expect((await errorOf(await at(`/${LIST_PROJECTS}`, bearer))).reason).toBe('TOKEN_INVALID')
  })

  it('of the API are no session at the console', async () => {
    const headers = { authorization: `Bearer ${owner.token}`, 'x-keyturn-console': '1' }
    expect(await errorOf(await at(`/console/api/${LIST_PROJECTS}`, headers))).toEqual(NO_SESSION)
  })

  it('count for nothing if there are two cookies of the name', async () => {
    const [mine, theirs] = [await signedIn(), await signedIn()]
    const headers = { cookie: `${mine.cookie}; ${theirs.cookie}`, 'x-keyturn-console': '1' }
    expect(await errorOf(await at(`/console/api/${LIST_PROJECTS}`, headers))).toEqual(NO_SESSION)
  })

  it('are counted when they are invented, and the address has to wait', async () => {
    const alone = await instance.startReplica()
    const browser = openBrowser(alone)
    browser.cookie = `keyturn_console=ktn_session_${'A'.repeat(59)}`
    for (let count = 0; count < 100; count += 1) {
      expect((await browser.send('/console/session')).status).toBe(401)
    }
    const blocked = await browser.send('/console/session')
    expect(blocked.status).toBe(429)
    expect(Number(blocked.headers.get('retry-after'))).toBeGreaterThan(0)
    const code = `ktn_link_${'A'.repeat(59)}`
    for (let count = 0; count < 100; count += 1) expect((await browser.signIn(code)).status).toBe(401)
    expect((await browser.signIn(code)).status).toBe(429)
  })
})
