/**
 * The clocks of the database and of a replica's machine differ: which of them counts, and what the operator is told (decision 15).
 */
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { parsePrometheusText } from '../support/prometheus-text.ts'

const HOUR = 3600

let postgres: TestPostgres
let url: string
let server: Keyturn | undefined
let metrics: string
beforeAll(() => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  url = await postgres.createDatabase()
})
afterEach(async () => {
  await removeServers(server)
  server = undefined
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

async function startOnClock(seconds: number): Promise<Keyturn> {
  await setClock(seconds)
  // With its name in the path, functions of pg_catalog give way to those of the database.
  await postgres.query(`alter database ${new URL(url).pathname.slice(1)} set search_path = public, pg_catalog`)
  metrics = `127.0.0.1:${await freePort()}`
  server = await startKeyturnInProcess({
    env: { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey(), KEYTURN_METRICS_LISTEN: metrics },
  })
  return server
}

async function readiness({ listenUrl }: Keyturn) {
  const response = await fetch(`${listenUrl}/readyz`)
  return { status: response.status, body: await response.json() }
}

async function offset(): Promise<number> {
  const families = parsePrometheusText(await (await fetch(`http://${metrics}/metrics`)).text())
  return families.get('keyturn_clock_offset_seconds')!.samples[0]!.value
}

/** Gets a token, which must be dated by the clock of this machine. */
async function expectRightToken(running: Keyturn): Promise<void> {
  const before = Math.floor(Date.now() / 1000)
  const { iat = 0, exp = 0 } = decodeJwt(await requestToken(await running.admin()))
  expect(iat).toBeGreaterThanOrEqual(before)
  expect(iat).toBeLessThanOrEqual(Date.now() / 1000)
  expect(exp - iat).toBe(HOUR)
}

async function createProject(running: Keyturn, name: string): Promise<number> {
  const { projects } = await administrationOf(running)
  return timestampDate((await projects.createProject({ name })).project!.creationDate!).getTime()
}

describe('a database whose clock differs from that of a replica', () => {
  it.each([
    [20, 'ahead of'],
    [-20, 'behind'],
  ])('by %i s dates changes and no tokens, and the operator is warned', async (seconds, direction) => {
    const running = await startOnClock(seconds)
    await expectRightToken(running)
    expect(Math.abs((await createProject(running, 'shop')) - Date.now() - seconds * 1000)).toBeLessThan(10_000)
    expect(await readiness(running)).toEqual({
      status: 200,
      body: {
        status: 'ready',
        warnings: [expect.stringMatching(`the database is \\d\\d s ${direction} that of this`)],
      },
    })
    expect(Math.abs((await offset()) - seconds)).toBeLessThan(5)
    expect(running.output().stderr).toContain('the clocks of this machine and of the database differ')
  })

  it('by more than 30 s makes the replica not ready, until they agree', async () => {
    const running = await startOnClock(0)
    expect(await readiness(running)).toEqual({ status: 200, body: { status: 'ready' } })
    await setClock(600)
    await eventually(async () =>
      expect(await readiness(running)).toEqual({
        status: 503,
        body: {
          status: 'not ready',
          reason: expect.stringMatching(/^the clock of the database is (600|599) s ahead .*, the limit is 30 s$/),
        },
      }),
    )
    await expectRightToken(running)
    await setClock(0)
    await eventually(async () => expect(await readiness(running)).toEqual({ status: 200, body: { status: 'ready' } }))
  })
})
