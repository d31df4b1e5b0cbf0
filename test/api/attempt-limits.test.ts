import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { formOf, type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const MAX_PER_CLIENT = 100
const MAX_PER_ADDRESS = 1000
const AT_ONCE = 20

/** Other addresses of this machine; only Linux has them without being told to. */
const itWithAddresses = itUnless(NOT_LINUX)

let instance: OAuthInstance
const agents = new Map<string, Agent>()

beforeAll(async () => {
  instance = await startOAuthInstance()
})

afterAll(async () => {
  for (const agent of agents.values()) agent.destroy()
  await instance?.stop()
})

interface Answer {
  readonly status: number | undefined
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: Record<string, unknown>
}

/** Asks for a token from an address of this machine. */
function ask(form: Record<string, string>, localAddress = '127.0.0.1'): Promise<Answer> {
  const agent = agents.get(localAddress) ?? new Agent({ keepAlive: true, localAddress })
  agents.set(localAddress, agent)
  return new Promise((resolve, reject) => {
    const url = `${instance.keyturn.listenUrl}/oauth/v2/token`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const outgoing = request(url, { method: 'POST', headers, agent }, (response) => {
      text(response).then((body) => {
        resolve({ status: response.statusCode, headers: response.headers, body: JSON.parse(body) as Answer['body'] })
      }, reject)
    })
    outgoing.on('error', reject).end(String(new URLSearchParams(form)))
  })
}

const wrong = (robot: Robot) => ({ ...formOf(robot), client_secret: 'not the secret' })

/** Fails so many times, and returns the statuses. */
async function fail(times: number, form: () => Record<string, string>, localAddress?: string) {
  const statuses = new Set<number | undefined>()
  for (let done = 0; done < times; done += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, times - done) }, () => ask(form(), localAddress))
    for (const { status } of await Promise.all(batch)) statuses.add(status)
  }
  return [...statuses]
}

function expectBlocked({ status, headers, body }: Answer) {
  expect({ status, body }).toEqual({
    status: 429,
    body: { code: 'too_many_failures', message: expect.stringContaining('too many failed') },
  })
  expect(headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' })
  expect(headers['content-type']).toMatch(/^application\/json\b/)
  expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
}

describe('a client that has failed to authenticate too often from one address', () => {
  it('is told 429 with Retry-After, even with the right secret, and other clients there are not', async () => {
    const robot = await instance.addRobot()
    expect(await fail(MAX_PER_CLIENT, () => wrong(robot))).toEqual([401])
    expectBlocked(await ask(wrong(robot)))
    expectBlocked(await ask(formOf(robot)))
    const assertion = { client_assertion: assertionOf(robot), client_assertion_type: ASSERTION_TYPE }
    expectBlocked(await ask({ grant_type: 'client_credentials', ...assertion }))
    expect((await ask(formOf(await instance.addRobot()))).status).toBe(200)
  })

  it('is treated alike whether or not it exists', async () => {
    const stranger = { grant_type: 'client_credentials', client_id: `${randomUUID()}@billing`, client_secret: 'x' }
    expect(await fail(MAX_PER_CLIENT, () => stranger)).toEqual([401])
    expectBlocked(await ask(stranger))
  })

  it('does not count what is not a failure to authenticate', async () => {
    const robot = await instance.addRobot()
    const refused = () => ({ ...formOf(robot), scope: 'no-such-scope' })
    expect(await fail(MAX_PER_CLIENT + 20, refused)).toEqual([400])
    expect((await ask(formOf(robot))).status).toBe(200)
  })
})

describe('an address from which too many authentications have failed', () => {
  itWithAddresses('is told 429 for every client, and other addresses are not', async () => {
    const robot = await instance.addRobot()
    const stranger = () => ({ ...formOf(robot), client_id: `${randomUUID()}@billing` })
    expect(await fail(MAX_PER_ADDRESS, stranger, '127.0.0.4')).toEqual([401])
    expectBlocked(await ask(formOf(robot), '127.0.0.4'))
    expectBlocked(await ask(stranger(), '127.0.0.4'))
    expect((await ask(formOf(robot), '127.0.0.5')).status).toBe(200)
  })
})

/** An assertion that would be refused if anybody looked at it. */
function assertionOf({ clientId }: Robot): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'ES256' })}.${part({ iss: clientId, sub: clientId })}.x`
}
