import { Agent, request } from 'node:http'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { eventually } from '../support/eventually.ts'
import { formOf, type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'
import { describeUnless, NOT_LINUX } from '../support/unless.ts'

const JUNK = 300
const AT_ONCE = 50
/** How many of them become events, and how many events the other refused calls are. */
const ADMITTED = 50
const OTHERS = 6
const LIST = '/iam.project.v2.ProjectService/ListProjects'
const TOKEN = '/oauth/v2/token'
const JUNK_ADDRESS = '127.0.0.9'

interface Event {
  readonly actor: string
  readonly action: string
  readonly resource: string
  readonly outcome: string
  readonly client_address: string
  readonly omitted_count: number | null
}

let instance: OAuthInstance
let robot: Robot
let token: string
let events: readonly Event[]
const agents = new Map<string, Agent>()

/** Sends a request from an address of this machine. */
function send(path: string, localAddress: string, body: object, authorization?: string): Promise<number | undefined> {
  const agent = agents.get(localAddress) ?? new Agent({ keepAlive: true, localAddress })
  agents.set(localAddress, agent)
  const isForm = path === TOKEN
  const headers = {
    'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(instance.keyturn.listenUrl + path, { method: 'POST', headers, agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    const content = isForm ? String(new URLSearchParams(body as Record<string, string>)) : JSON.stringify(body)
    outgoing.on('error', reject).end(content)
  })
}

beforeAll(async () => {
  if (NOT_LINUX !== undefined) return
  instance = await startOAuthInstance()
  robot = await instance.addRobot()
  token = await instance.accessToken(robot, 'urn:service:iam:org:project:id:service:aud')
  const disabled = await instance.addRobot({ enabled: false })
  const wrong = { ...formOf(robot), client_secret: 'not the secret' }
  const unknown = { ...wrong, client_id: `5a5c4be5-0d57-4b2c-9d8e-0e4b1f1f9a11@billing` }
  const assertion = {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: [{ alg: 'ES256' }, { iss: robot.clientId, sub: robot.clientId }, {}]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.'),
  }
  const statuses: (number | undefined)[] = []
  for (let sent = 0; sent < JUNK; sent += AT_ONCE) {
    // Another token each time: a single one would soon be answered with 429.
    const batch = Array.from({ length: AT_ONCE }, (_, i) => send(LIST, JUNK_ADDRESS, {}, `Bearer nonsense-${sent + i}`))
    statuses.push(...(await Promise.all(batch)))
  }
  expect(new Set(statuses)).toEqual(new Set([401]))

  expect(await send(TOKEN, '127.0.0.2', wrong)).toBe(401)
  expect(await send(TOKEN, '127.0.0.3', formOf(disabled))).toBe(401)
  expect(await send(TOKEN, '127.0.0.4', assertion)).toBe(401)
  expect(await send(TOKEN, '127.0.0.5', unknown)).toBe(401)
  expect(await send(LIST, '127.0.0.6', {})).toBe(401)
  expect(await send(LIST, JUNK_ADDRESS, {}, `Bearer ${token}`)).toBe(403)
  expect(await send(TOKEN, JUNK_ADDRESS, wrong)).toBe(401)
  expect(await send(TOKEN, JUNK_ADDRESS, formOf(robot))).toBe(200)
  for (const agent of agents.values()) agent.destroy()
  // At its end a server does not wait long for what it still has to write: only for what it counted.
  await eventually(async () => expect((await refusals()).length).toBeGreaterThanOrEqual(ADMITTED + OTHERS))
  await instance.keyturn.stop()
  events = await refusals()
})

async function refusals(): Promise<readonly Event[]> {
  const { rows } = await sql<Event>`
    select actor, action, resource, outcome, client_address, omitted_count from audit_events
      where outcome <> 'ok' order by event_date, event_id`.execute(instance.database.db)
  return rows
}

afterAll(() => instance?.stop())

describeUnless(NOT_LINUX)('three hundred junk calls of one address', () => {
  const of = (address: string) => events.filter(({ client_address }) => client_address === address)
  const failed = (user: { readonly userId: string }) =>
    expect.objectContaining({
      actor: 'anonymous',
      action: 'oauth/token',
      resource: `users/${user.userId}`,
      outcome: 'INVALID_CLIENT',
    })

  it('hide no failed authentication of a user at the token endpoint, whatever it tried', () => {
    expect(of('127.0.0.2')).toEqual([failed(robot)])
    expect(of('127.0.0.3')).toEqual([expect.objectContaining({ action: 'oauth/token', outcome: 'INVALID_CLIENT' })])
    expect(of('127.0.0.4')).toEqual([failed(robot)])
    expect(of(JUNK_ADDRESS)).toContainEqual(failed(robot))
  })

  it('hide no refusal of a caller with a token, nor one of another address', () => {
    expect(of(JUNK_ADDRESS)).toContainEqual(
      expect.objectContaining({ actor: robot.userId, outcome: 'PERMISSION_MISSING' }),
    )
    expect(of('127.0.0.6')).toEqual([expect.objectContaining({ actor: 'anonymous', outcome: 'TOKEN_MISSING' })])
  })

  it('are fifty events, and one that counts the others', () => {
    const junk = of(JUNK_ADDRESS).filter(({ actor, resource }) => actor === 'anonymous' && resource === '')
    expect(junk.filter(({ outcome }) => outcome === 'TOKEN_INVALID')).toHaveLength(ADMITTED)
    expect(events.filter(({ outcome }) => outcome === 'OMITTED')).toEqual([
      {
        actor: 'anonymous',
        action: 'audit/omitted',
        resource: '',
        outcome: 'OMITTED',
        client_address: JUNK_ADDRESS,
        omitted_count: JUNK - ADMITTED,
      },
    ])
  })

  it('and a user who does not exist leave no event at the token endpoint', () => {
    expect(of('127.0.0.5')).toEqual([])
  })
})
