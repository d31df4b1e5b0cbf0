/**
 * The clock of the database is set back by an hour, or was an hour ahead and is corrected.
 */
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { administrationOf } from '../support/administration.ts'
import { newCode, openBrowser } from '../support/console-browser.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { parsePrometheusText } from '../support/prometheus-text.ts'
import { requestToken } from '../support/web-key-client.ts'

const HOUR = 3600
const MASTER_KEYS = generateMasterKey()

let postgres: TestPostgres
let url: string
let started: { readonly server: Keyturn; readonly metrics: string }[]
beforeAll(async () => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  url = await postgres.createDatabase()
  started = []
})
afterEach(async () => {
  for (const { server } of started) {
    await server.stop()
    await removeFolder(server.dataDir)
  }
})
afterAll(() => postgres?.stop())

/** Makes the database's clock wrong by so many seconds, from now on. */
async function setClock(seconds: number): Promise<void> {
  await postgres.query(
    `create or replace function clock_timestamp() returns timestamptz language sql as
      $$ select pg_catalog.clock_timestamp() + interval '${seconds} seconds' $$`,
    [],
    url,
  )
}

/** With its name in the path, functions of pg_catalog give way to those of the database. */
async function shadowClock(seconds: number): Promise<void> {
  await setClock(seconds)
  await postgres.query(`alter database ${new URL(url).pathname.slice(1)} set search_path = public, pg_catalog`)
}

/** All in one name, which is where the first of them listens. */
async function start(): Promise<(typeof started)[number]> {
  const metrics = `127.0.0.1:${await freePort()}`
  const first = started[0]?.server
  const listen = `127.0.0.1:${first === undefined ? await freePort() : 0}`
  const server = await startKeyturnInProcess({
    env: {
      KEYTURN_DATABASE_URL: url,
      KEYTURN_MASTER_KEYS: MASTER_KEYS,
      KEYTURN_METRICS_LISTEN: metrics,
      KEYTURN_LISTEN: listen,
      KEYTURN_BASE_URL: first?.baseUrl ?? `http://${listen}`,
    },
  })
  const running = { server, metrics }
  started.push(running)
  return running
}

async function heldSeconds(metrics: string): Promise<number> {
  const families = parsePrometheusText(await (await fetch(`http://${metrics}/metrics`)).text())
  return families.get('keyturn_clock_held_back_seconds')!.samples[0]!.value
}

async function readiness({ listenUrl }: Keyturn) {
  const response = await fetch(`${listenUrl}/readyz`)
  return { status: response.status, body: await response.json() }
}

/** How far a new token is dated from the right time, at most, in seconds, before the rounding. */
async function tokenError(server: Keyturn): Promise<number> {
  const admin = { ...(await started[0]!.server.admin()), token_endpoint: `${server.listenUrl}/oauth/v2/token` }
  const before = Date.now() / 1000
  const { iat = 0, exp = 0 } = decodeJwt(await requestToken(admin))
  const after = Date.now() / 1000
  expect(exp - iat).toBe(HOUR)
  return iat < before ? iat - before : Math.max(0, iat - after)
}

async function createProject(server: Keyturn, name: string): Promise<Date> {
  const { projects } = await administrationOf(server)
  return timestampDate((await projects.createProject({ name })).project!.creationDate!)
}

/** A service user with a secret. */
async function createRobot(server: Keyturn) {
  const { projects, users } = await administrationOf(server)
  const { project } = await projects.createProject({ name: 'robots' })
  const { serviceUser } = await users.createServiceUser({
    projectId: project!.projectId,
    name: 'robot',
    clientCredentialsEnabled: true,
  })
  const { userId } = serviceUser!
  const { clientId, clientSecret } = await users.generateClientSecret({ userId })
  return { ...(await server.admin()), userId, client_id: clientId, client_secret: clientSecret }
}

/** Gets a token and revokes it with the credentials of its client (RFC 7009). */
async function revokeOwn({ listenUrl }: Keyturn, robot: Awaited<ReturnType<typeof createRobot>>): Promise<string> {
  const token = await requestToken(robot)
  const { client_id, client_secret } = robot
  const body = new URLSearchParams({ client_id, client_secret, token })
  expect((await fetch(`${listenUrl}/oauth/v2/revoke`, { method: 'POST', body })).status).toBe(200)
  return token
}

/** Sets the clock back by an hour and waits until the replica holds its time. */
async function setBackAndHold(metrics: string): Promise<void> {
  await setClock(-HOUR)
  await eventually(async () => expect(await heldSeconds(metrics)).toBeGreaterThan(HOUR - 5))
}

const linesWith = ({ output }: Keyturn, text: string) =>
  output()
    .stderr.split('\n')
    .filter((line) => line.includes(text))

describe('a database whose clock is set back by an hour', () => {
  it('gets no date before those that it has, tokens go on from where they were, and the operator is told until it is over', async () => {
    await shadowClock(0)
    const { server, metrics } = await start()
    const { projects, users } = await administrationOf(server)
    const projectBefore = await createProject(server, 'before')
    expect(await readiness(server)).toEqual({ status: 200, body: { status: 'ready' } })

    await setClock(-HOUR)
    const projectAfter = await createProject(server, 'after')
    expect(projectAfter.getTime()).toBeGreaterThan(projectBefore.getTime())
    const { projectId } = (await projects.listProjects({})).projects[0]!
    const { serviceUser } = await users.createServiceUser({ projectId, name: 'robot' })
    const newest = timestampDate(serviceUser!.creationDate!)
    expect(newest.getTime()).toBeGreaterThan(projectAfter.getTime())

    await eventually(async () => expect(await heldSeconds(metrics)).toBeGreaterThan(HOUR - 5))
    expect(await heldSeconds(metrics)).toBeLessThan(HOUR + 5)
    expect(Math.abs(await tokenError(server))).toBeLessThan(5)
    expect(await readiness(server)).toEqual({
      status: 200,
      body: { status: 'ready', warnings: [expect.stringContaining('gone back by 3600 s')] },
    })

    // One that starts now has never seen the right time, but what is stored.
    const { server: second } = await start()
    const error = await tokenError(second)
    expect(error).toBeGreaterThan((newest.getTime() - Date.now()) / 1000 - 2)
    expect(error).toBeLessThan(2)

    await setClock(0)
    await eventually(async () => expect(await heldSeconds(metrics)).toBe(0))
    await eventually(async () => expect((await readiness(server)).body).toEqual({ status: 'ready' }))
    expect(Math.abs(await tokenError(server))).toBeLessThan(5)
    expect(linesWith(server, 'the clock of the database has gone back')).toHaveLength(1)
    expect(linesWith(server, 'the clock of the database agrees again')).toHaveLength(1)
  })

  it('has all tokens of a user revoked, also those dated by the time that is held, and none that the user gets later', async () => {
    await shadowClock(0)
    const { server, metrics } = await start()
    const { users } = await administrationOf(server)
    const robot = await createRobot(server)
    const reasonOf = async (token: string) => (await users.introspectToken({ token })).reason
    const before = await requestToken(robot)
    await setBackAndHold(metrics)
    const held = await requestToken(robot)
    expect([await reasonOf(before), await reasonOf(held)]).toEqual(['', ''])

    await users.revokeTokens({ userId: robot.userId })
    const revoked = 'the access token has been revoked: get a new one'
    expect([await reasonOf(before), await reasonOf(held)]).toEqual([revoked, revoked])
    await eventually(async () => expect(await reasonOf(await requestToken(robot))).toBe(''))
  })

  it('lets people sign in at the console, whose links and sessions it dates itself', async () => {
    await shadowClock(0)
    const { server, metrics } = await start()
    const owner = await administrationOf(server)
    await setBackAndHold(metrics)
    const browser = openBrowser(server)
    expect((await browser.signIn(await newCode(owner))).status).toBe(204)
    expect((await browser.send('/console/session')).status).toBe(200)
    expect((await browser.call('iam.project.v2.ProjectService/ListProjects')).status).toBe(200)
    expect((await owner.console.listSessions({})).sessions).toHaveLength(1)
  })
})

describe('a database whose clock was an hour ahead', () => {
  it('gives the right dates to tokens once it is corrected, and to changes later ones than it has', async () => {
    await shadowClock(HOUR)
    const { server } = await start()
    const ahead = await createProject(server, 'ahead')
    expect(Math.abs((await tokenError(server)) - HOUR)).toBeLessThan(5)

    await setClock(0)
    await eventually(async () => expect(Math.abs(await tokenError(server))).toBeLessThan(5))
    expect((await readiness(server)).body).toMatchObject({ warnings: [expect.stringContaining('dated in the future')] })
    expect((await createProject(server, 'corrected')).getTime()).toBeGreaterThan(ahead.getTime())
    const { server: second } = await start()
    expect(Math.abs(await tokenError(second))).toBeLessThan(5)
  })

  it('has not forgotten what was revoked before', async () => {
    await shadowClock(0)
    const { server } = await start()
    const { users } = await administrationOf(server)
    const robot = await createRobot(server)
    const revoked = await revokeOwn(server, robot)

    await setClock(2 * HOUR)
    await eventually(async () => expect(await tokenError(server)).toBeGreaterThan(HOUR))
    await revokeOwn(server, robot)
    await setClock(0)
    await eventually(async () => expect(Math.abs(await tokenError(server))).toBeLessThan(5))
    const { reason } = await users.introspectToken({ token: revoked })
    expect(reason).toBe('the access token has been revoked: get a new one')
  })
})
