/**
 * What requests of the console need besides the cookie, and what every response of it says to browsers.
 */
import { once } from 'node:events'
import { connect, type OutgoingHttpHeaders } from 'node:http2'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Administration, administrationOf } from '../support/administration.ts'
import { type ConsoleBrowser, newCode, openBrowser, PAGE } from '../support/console-browser.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'

const CALL = '/console/api/iam.project.v2.ProjectService/ListProjects'
const JSON_TYPE = { 'content-type': 'application/json' }

let server: Keyturn
let admin: Administration
let browser: ConsoleBrowser
beforeAll(async () => {
  server = await startKeyturnInProcess()
  admin = await administrationOf(server)
  browser = openBrowser(server)
  await browser.signIn(await newCode(admin))
})
afterAll(() => removeServers(server))

const post = (path: string, headers: Record<string, string>, body = '{}') =>
  fetch(server.listenUrl + path, {
    method: 'POST',
    headers: { cookie: browser.cookie!, ...JSON_TYPE, ...headers },
    body,
  })

/** The status of a call over HTTP/2. */
async function statusOver2(headers: OutgoingHttpHeaders): Promise<unknown> {
  const session = connect(server.listenUrl)
  try {
    const stream = session.request({ ':method': 'POST', ':path': CALL, ...JSON_TYPE, ...headers })
    stream.end('{}')
    const [received] = await once(stream, 'response')
    return received[':status']
  } finally {
    session.close()
  }
}

describe('a request with the cookie of a session', () => {
  it.each([
    ['without what only a browser says', {}],
    ['of its own origin, as a browser says it', { origin: 'BASE', 'sec-fetch-site': 'same-origin' }],
    ['that the page makes by itself', { 'x-keyturn-console': 'background' }],
  ])('counts %s', async (_, headers: Record<string, string>) => {
    const own = headers.origin === undefined ? headers : { ...headers, origin: server.baseUrl }
    expect((await post(CALL, { ...PAGE, ...own })).status).toBe(200)
  })

  it.each([
    ['from a form or a link, which send no header', {}],
    ['with another header', { 'x-keyturn-console': 'yes' }],
    ['of another site', { ...PAGE, origin: 'https://attacker.example', 'sec-fetch-site': 'cross-site' }],
    ['of another origin of an old browser', { ...PAGE, origin: 'https://attacker.example' }],
    ['of a page without an origin', { ...PAGE, origin: 'null' }],
  ])('is refused %s', async (_, headers: Record<string, string>) => {
    for (const path of [CALL, '/console/session']) {
      const response = await post(path, headers)
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 403,
        body: { code: 'permission_denied', message: expect.stringContaining('only the page of the console') },
      })
    }
    const init = { headers: { cookie: browser.cookie!, ...headers } }
    expect((await fetch(`${server.listenUrl}/console/session`, init)).status).toBe(403)
    expect((await fetch(`${server.listenUrl}/console/session`, { ...init, method: 'DELETE' })).status).toBe(403)
  })

  it('is refused by the origin of the base URL, whatever the Host header says', async () => {
    // As a name that an attacker has made point to this machine.
    const foreign = { ...PAGE, ':authority': 'attacker.example', origin: 'http://attacker.example' }
    expect(await statusOver2({ cookie: browser.cookie!, ...foreign })).toBe(403)
  })

  it('works over HTTP/2, with the cookie in several fields', async () => {
    expect(await statusOver2({ cookie: ['theme=dark', browser.cookie!], ...PAGE })).toBe(200)
  })

  it.each([
    ['a form', 'application/x-www-form-urlencoded'],
    ['gRPC-Web', 'application/grpc-web+proto'],
  ])('is no call as %s', async (_, type) => {
    expect((await post(CALL, { ...PAGE, 'content-type': type })).status).toBe(415)
  })
})

describe('every response of the console', () => {
  const POLICY =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
  const expectSafe = (response: Response) => {
    const names = [
      'content-security-policy',
      'x-frame-options',
      'referrer-policy',
      'cross-origin-opener-policy',
      'x-content-type-options',
      'access-control-allow-origin',
    ]
    expect(names.map((name) => response.headers.get(name))).toEqual([
      POLICY,
      'DENY',
      'no-referrer',
      'same-origin',
      'nosniff',
      null,
    ])
  }

  it.each([
    ['the page', 'GET', '/console/', undefined],
    ['the page without its slash', 'GET', '/console', 308],
    ['a file that is not there', 'GET', '/console/assets/none.js', 404],
    ['a call without a session', 'POST', CALL, 401],
    ['the session', 'GET', '/console/session', 401],
  ])('has the headers against scripts and frames of others: %s', async (_, method, path, status) => {
    const init = { method, headers: { ...PAGE, ...JSON_TYPE }, redirect: 'manual' } as const
    const response = await fetch(server.listenUrl + path, method === 'POST' ? { ...init, body: '{}' } : init)
    if (status !== undefined) expect(response.status).toBe(status)
    expectSafe(response)
  })
})

describe('the console that is switched off', () => {
  let off: Keyturn
  beforeAll(async () => {
    off = await startKeyturnInProcess({ env: { KEYTURN_CONSOLE: 'off' } })
  })
  afterAll(() => removeServers(off))

  it.each([
    ['GET', '/console/'],
    ['GET', '/console/session'],
    ['POST', CALL],
    ['POST', '/iam.console.v2.ConsoleService/CreateSignInLink'],
  ])('is not there: %s %s', async (method, path) => {
    const init = { method, headers: { ...PAGE, ...JSON_TYPE } }
    const response = await fetch(off.listenUrl + path, method === 'POST' ? { ...init, body: '{}' } : init)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-security-policy')).toBeNull()
  })

  it('is in no description of the API', async () => {
    const described = async ({ listenUrl }: Keyturn) => (await fetch(`${listenUrl}/openapi.json`)).text()
    expect(await described(off)).not.toContain('ConsoleService')
    expect(await described(server)).toContain('ConsoleService')
  })
})
