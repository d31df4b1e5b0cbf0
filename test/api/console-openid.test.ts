/**
 * People who sign in at the console with an OpenID provider: oidc-provider, in a process of its own.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf, refusalOf } from '../support/administration.ts'
import { openBrowser, PAGE } from '../support/console-browser.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import { PersonBrowser, startOpenIdProvider, type TestOpenIdProvider } from '../support/openid-person.ts'

const SECRET = 'secret-of-the-client'

let folder: string
let settings: Record<string, string>
let provider: TestOpenIdProvider
let server: Keyturn
let admin: Administration
beforeAll(async () => {
  folder = await temporaryFolder()
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  provider = await startOpenIdProvider(`${baseUrl}/console/callback`, SECRET)
  await writeFile(join(folder, 'secret'), `${SECRET}\n`)
  settings = { KEYTURN_DATABASE_URL: await newPostgresDatabase(), KEYTURN_MASTER_KEYS: generateMasterKey() }
  server = await startKeyturnInProcess({
    env: {
      ...settings,
      KEYTURN_LISTEN: `127.0.0.1:${port}`,
      KEYTURN_BASE_URL: baseUrl,
      KEYTURN_OPENID_ISSUER: provider.issuer,
      KEYTURN_OPENID_CLIENT_ID: 'keyturn',
      KEYTURN_OPENID_CLIENT_SECRET_FILE: join(folder, 'secret'),
      KEYTURN_OPENID_SCOPES: 'openid profile groups',
      KEYTURN_OPENID_ROLES: '{"IAM_OWNER":{"groups":["platform"]},"IAM_OWNER_VIEWER":{"groups":["dev","ops"]}}',
    },
  })
  admin = await administrationOf(server)
})
afterAll(async () => {
  await server?.stop()
  await provider?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
  await removeFolder(folder)
})

const callbackUrl = () => `${server.baseUrl}/console/callback`

/** Begins at the console, and goes through the pages of the provider. @returns The browser, and the address of the return. */
async function authenticated(login: string, browser = new PersonBrowser()) {
  const sentAway = await browser.open(`${server.baseUrl}/console/sign-in`)
  expect(sentAway.status).toBe(303)
  const url = await browser.signInAtProvider(sentAway.headers.get('location')!, login, callbackUrl())
  return { browser, url }
}

async function signIn(login: string): Promise<{ browser: PersonBrowser; response: Response }> {
  const { browser, url } = await authenticated(login)
  return { browser, response: await browser.open(url) }
}

const sessionOf = async (browser: PersonBrowser) => {
  const cookie = `keyturn_console=${browser.cookies.get(`${server.baseUrl} keyturn_console`)}`
  const response = await fetch(`${server.baseUrl}/console/session`, { headers: { ...PAGE, cookie } })
  return {
    status: response.status,
    body: (await response.json()) as { userId: string; name: string; permissions: string[] },
  }
}

describe('signing in with an OpenID provider', () => {
  it('asks for a code with PKCE, state and nonce, and keeps what it needs in a cookie for the callback', async () => {
    const response = await new PersonBrowser().open(`${server.baseUrl}/console/sign-in`)
    const url = new URL(response.headers.get('location')!)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'keyturn',
      response_type: 'code',
      redirect_uri: callbackUrl(),
      scope: 'openid profile groups',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^keyturn_console_sign_in=[\w-]+; Path=\/console\/callback; HttpOnly; SameSite=Lax; Max-Age=600$/,
      ),
    ])
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  it('opens a session of a service user of the person, with the role that a claim gives', async () => {
    const { browser, response } = await signIn('alice:platform,dev')
    expect({ status: response.status, location: response.headers.get('location') }).toEqual({
      status: 303,
      location: '/console/',
    })
    const { status, body } = await sessionOf(browser)
    expect({ status, name: body.name }).toEqual({ status: 200, name: 'alice Doe' })
    expect(body.permissions).toContain('iam.web_key.write')
    const { serviceUser } = await admin.users.getServiceUser({ userId: body.userId })
    expect(serviceUser).toMatchObject({
      clientId: `${body.userId}@people`,
      clientCredentialsEnabled: false,
      instanceRoles: [InstanceRole.IAM_OWNER],
    })
    const { events } = await admin.audit.listAuditEvents({ resource: `users/${body.userId}` })
    expect(events.map(({ actor, action }) => [actor, action])).toEqual([
      [body.userId, 'console/sign_in'],
      ['system', 'console/person'],
    ])
    const secret = admin.users.generateClientSecret({ userId: body.userId })
    expect((await refusalOf(secret)).reason).toBe('PERSON_HAS_NO_CREDENTIALS')
  })

  it('is the same user each time, whose role follows the claims', async () => {
    const first = await sessionOf((await signIn('bob:platform')).browser)
    const second = await sessionOf((await signIn('bob:ops')).browser)
    expect(second.body.userId).toBe(first.body.userId)
    expect(second.body.permissions).not.toContain('iam.web_key.write')
    const { response, browser } = await signIn('bob:nothing')
    expect(response.status).toBe(403)
    expect(browser.cookies.has(`${server.baseUrl} keyturn_console`)).toBe(false)
    const { serviceUser } = await admin.users.getServiceUser({ userId: first.body.userId })
    expect(serviceUser!.instanceRoles).toEqual([])
  })

  it('notes refusals in the audit trail, with the user if there is one', async () => {
    const { browser } = await signIn('dave:dev')
    const { userId } = (await sessionOf(browser)).body
    await signIn('dave:nothing')
    await signIn('eve:nothing')
    await browser.open(`${server.baseUrl}/console/sign-in`)
    await browser.open(`${callbackUrl()}?code=a&state=b`)
    await eventually(async () => {
      const { events } = await admin.audit.listAuditEvents({ actor: 'anonymous', pageSize: 1000 })
      const refused = events.filter(({ action }) => action === 'console/sign_in')
      expect(refused.map(({ outcome, resource }) => `${outcome} ${resource}`)).toEqual(
        expect.arrayContaining([`SIGN_IN_NOT_ALLOWED users/${userId}`, 'SIGN_IN_NOT_ALLOWED ', 'SIGN_IN_FAILED ']),
      )
    })
  })

  it('refuses a person whose user is disabled, and ends the sessions', async () => {
    const { browser } = await signIn('carol:dev')
    const { userId } = (await sessionOf(browser)).body
    await admin.users.disableServiceUser({ userId })
    expect((await sessionOf(browser)).status).toBe(401)
    expect((await signIn('carol:dev')).response.status).toBe(403)
    const { serviceUser } = await admin.users.getServiceUser({ userId })
    expect(serviceUser!.enabled).toBe(false)
  })

  it('ends with the roles that the provider gives from then on, if they are more', async () => {
    const viewer = (await signIn('heidi:dev')).browser
    expect((await sessionOf(viewer)).status).toBe(200)
    const owner = (await signIn('heidi:platform')).browser
    expect((await sessionOf(viewer)).status).toBe(401)
    const less = (await signIn('heidi:dev')).browser
    expect([(await sessionOf(owner)).status, (await sessionOf(less)).status]).toEqual([200, 200])
  })

  it('takes the return of a browser once, and of that browser alone', async () => {
    const { browser, url } = await authenticated('dave:dev')
    const other = new PersonBrowser()
    expect((await other.open(url)).status).toBe(401)
    await other.open(`${server.baseUrl}/console/sign-in`)
    expect((await other.open(url)).status).toBe(401)
    expect((await browser.open(url)).status).toBe(303)
    expect((await browser.open(url)).status).toBe(401)
  })

  it('sets over https a cookie that browsers take from its host alone, and reads no other', async () => {
    const secure = await startKeyturnInProcess({
      env: {
        KEYTURN_BASE_URL: 'https://keyturn.example.com',
        KEYTURN_OPENID_ISSUER: provider.issuer,
        KEYTURN_OPENID_CLIENT_ID: 'keyturn',
        KEYTURN_OPENID_ROLES: '{"IAM_OWNER":{"groups":"platform"}}',
      },
    })
    const response = await fetch(`${secure.listenUrl}/console/sign-in`, { redirect: 'manual' })
    const [line = ''] = response.headers.getSetCookie()
    expect(line).toMatch(
      /^__Host-keyturn_console_sign_in=[\w-]+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/,
    )
    const callback = async (cookie: string) => {
      const returned = await fetch(`${secure.listenUrl}/console/callback?code=c&state=s`, { headers: { cookie } })
      return await returned.text()
    }
    const [pair = ''] = line.split(';', 1)
    expect(await callback(pair)).toContain('the OpenID provider did not confirm the sign-in')
    expect(await callback(pair.replace('__Host-', ''))).toContain('began elsewhere')
    await secure.stop()
    await removeFolder(secure.dataDir)
  })

  it.each([
    ['another state', (url: URL) => url.searchParams.set('state', 'other')],
    ['another code', (url: URL) => url.searchParams.set('code', 'other')],
    ['nothing', (url: URL) => (url.search = '')],
  ])('refuses a return with %s', async (_, change) => {
    const { browser, url } = await authenticated('erin:dev')
    const changed = new URL(url)
    change(changed)
    const response = await browser.open(changed.href)
    expect(response.status).toBe(401)
    expect(await response.text()).toContain('the OpenID provider did not confirm the sign-in')
  })
})

describe('without an OpenID provider', () => {
  it('that can be reached the console says so, and links go on working', async () => {
    const port = await freePort()
    const env = {
      KEYTURN_OPENID_ISSUER: `http://localhost:${port}`,
      KEYTURN_OPENID_CLIENT_ID: 'keyturn',
      KEYTURN_OPENID_ROLES: '{"IAM_OWNER":{"groups":"platform"}}',
    }
    const cut = await startKeyturnInProcess({ env })
    const response = await fetch(`${cut.listenUrl}/console/sign-in`)
    expect({ status: response.status, retryAfter: response.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: '5',
    })
    expect(await response.text()).toContain('the OpenID provider cannot be asked')
    const { url } = await (await administrationOf(cut)).console.createSignInLink({})
    expect((await openBrowser(cut).signIn(new URL(url).hash.slice('#code='.length))).status).toBe(204)
    await cut.stop()
    await removeFolder(cut.dataDir)
  })
})
