/**
 * What a synchronous standby costs a change, by its distance, and what happens while it is away: commits then wait for it.
 *
 * What is measured is printed. What is asserted holds on any machine: a change waits for the way there and back, a token does not.
 */
import { afterAll, beforeAll, expect } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { startKeyturn } from '../support/keyturn.ts'
import { WITHOUT_NAMESPACES } from '../support/network/namespaces.ts'
import { describeUnless, itUnless } from '../support/unless.ts'
import { makeRegions, type Region, type Regions } from './distant-regions.ts'
import { distributionOf } from './figures.ts'

const URL_INSIDE = 'http://127.0.0.1:8080'
const TOKEN_URL = `${URL_INSIDE}/oauth/v2/token`
const API_SCOPE = 'urn:service:iam:org:project:id:service:aud'
/** Milliseconds there and back: beside each other, two zones, two regions. */
const ROUND_TRIPS = [0, 2, 20]
const TURNS = 5
const CHANGES = 10
const LOAD = { connections: 4, millis: 3000 }

let regions: Regions
let home: Region
let standby: Region
let asAdministrator: RequestInit
let authorization: string
let changes = 0

beforeAll(async () => {
  if (WITHOUT_NAMESPACES !== undefined) return
  regions = await makeRegions(['home', 'standby'])
  ;[home, standby] = regions.all as [Region, Region]
  // A standby confirms what it has synced.
  for (const { database } of regions.all) {
    await database.stop('fast')
    await database.start(['fsync=on'])
  }
  home.keyturn = await startKeyturn({
    enter: home.namespace.enter,
    env: {
      KEYTURN_LISTEN: new URL(URL_INSIDE).host,
      KEYTURN_BASE_URL: 'http://localhost:8080',
      KEYTURN_DATABASE_URL: home.database.url(),
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_LOG_LEVEL: 'warn',
    },
  })
  const { client_id, client_secret } = await home.keyturn.admin()
  asAdministrator = {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: String(new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope: API_SCOPE })),
  }
  const { body } = await home.client.ask({ kind: 'fetch', url: TOKEN_URL, init: asAdministrator })
  authorization = `Bearer ${(JSON.parse(body) as { access_token: string }).access_token}`
})
afterAll(() => regions?.remove())

const itHere = itUnless(WITHOUT_NAMESPACES)

async function call(method: string, request: object): Promise<{ readonly status: number; readonly body: string }> {
  const headers = { 'content-type': 'application/json', authorization }
  const init = { method: 'POST', headers, body: JSON.stringify(request) }
  return await home.client.ask({ kind: 'fetch', url: `${URL_INSIDE}/iam.project.v2.ProjectService/${method}`, init })
}

const createProject = (name: string) => call('CreateProject', { name })

/** Whether commits wait for the standby. */
async function setSynchronous(names: string): Promise<void> {
  await home.database.query(`alter system set synchronous_standby_names = '${names}'`)
  await home.database.query('select pg_reload_conf()')
  await eventually(async () => {
    expect(await home.database.query('show synchronous_standby_names')).toEqual([{ synchronous_standby_names: names }])
    const state = await home.database.query('select sync_state from pg_stat_replication')
    expect(state).toEqual([{ sync_state: names === '' ? 'async' : 'sync' }])
  })
}

/** How long changes take, one after the other, in milliseconds. */
async function changeTimes(): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; count < CHANGES; count += 1) {
    changes += 1
    const startedAt = performance.now()
    const { status } = await createProject(`project-${changes}`)
    times.push(performance.now() - startedAt)
    expect(status).toBe(200)
  }
  return times
}

function say(line: string): void {
  process.stdout.write(`  ${line}\n`)
}

function summaryOf(times: readonly number[]): string {
  const { median, worst } = distributionOf(times)!
  const best = Math.min(...times)
  return `best ${best.toFixed(1)} ms, median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms`
}

describeUnless(WITHOUT_NAMESPACES)('a synchronous standby', () => {
  itHere('costs a change the way there and back, and a token nothing', async () => {
    for (const roundTrip of ROUND_TRIPS) {
      regions.network.connect(home.namespace, standby.namespace, { roundTrip, loss: 0 })
      const times = { asynchronous: [] as number[], synchronous: [] as number[] }
      const tokens = { asynchronous: [] as number[], synchronous: [] as number[] }
      for (let turn = 0; turn < TURNS; turn += 1) {
        for (const mode of ['asynchronous', 'synchronous'] as const) {
          await setSynchronous(mode === 'synchronous' ? 'standby' : '')
          times[mode].push(...(await changeTimes()))
          const load = {
            kind: 'load',
            url: TOKEN_URL,
            init: asAdministrator,
            ...LOAD,
            millis: LOAD.millis / TURNS,
          } as const
          const { failures, latencies } = await home.client.ask(load)
          expect(failures).toEqual([])
          tokens[mode].push(...latencies)
        }
      }
      for (const mode of ['asynchronous', 'synchronous'] as const) {
        say(`${roundTrip} ms, ${mode}: a change ${summaryOf(times[mode])}; a token ${summaryOf(tokens[mode])}`)
      }
      expect(Math.min(...times.synchronous)).toBeGreaterThanOrEqual(roundTrip)
    }
  })

  itHere('that is away holds up changes, which are answered as unknown, and no tokens', async () => {
    await setSynchronous('standby')
    regions.network.cut(home.namespace, standby.namespace)
    const cutAt = performance.now()
    const load = home.client.ask({ kind: 'load', url: TOKEN_URL, init: asAdministrator, ...LOAD, millis: 25_000 })
    const held = await createProject('held')
    say(`a change while the standby was away: ${held.status} after ${seconds(cutAt)} s: ${held.body}`)
    expect(held).toMatchObject({ status: 500, body: expect.stringContaining('CHANGE_OUTCOME_UNKNOWN') })
    const askedAt = performance.now()
    const next = await createProject('next')
    say(`the next one: ${next.status} after ${seconds(askedAt)} s: ${next.body}`)
    expect(next).toMatchObject({ status: 503, body: expect.stringContaining('"unavailable"') })
    expect((await load).failures).toEqual([])

    regions.network.mend(home.namespace, standby.namespace)
    await eventually(async () => expect((await createProject('afterwards')).status).toBe(200))
    const { body } = await call('ListProjects', { pageSize: 1000 })
    expect(body).toContain('"held"')
    expect(body).not.toContain('"next"')
  })
})

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1)
}
