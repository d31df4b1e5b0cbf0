/**
 * Many active users on two replicas behind HAProxy, with the configuration in `deploy/haproxy` and `BALANCE=client`.
 *
 * `KEYTURN_TEST_ACTIVE_USERS` of them, 200,000 by default. Prints how long it took and what memory it took.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Administrator, tokenForm } from '../../bench/contenders/administrator.ts'
import { derivedClients } from '../../bench/contenders/clients.ts'
import { insertClients } from '../../bench/contenders/keyturn.ts'
import { Connection } from '../../bench/load/connection.ts'
import { postRequest } from '../../bench/load/requests.ts'
import { residentMegabytesOf } from '../../bench/processes/usage.ts'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { OAUTH_PATHS } from '../../src/oauth/endpoints.ts'
import { administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type HaProxy, startHaProxy, WITHOUT_HAPROXY } from '../support/haproxy.ts'
import { heldMebibytes } from '../support/held-memory.ts'
import { type KeyturnProcess, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import { freePort, type TestPostgres } from '../support/postgres.ts'
import { parsePrometheusText } from '../support/prometheus-text.ts'
import { describeUnless } from '../support/unless.ts'

type Client = ReturnType<typeof derivedClients>[number]

const ACTIVE_USERS = Number(process.env.KEYTURN_TEST_ACTIVE_USERS ?? 200_000)
/** A fifth more than the share of one of two. */
const MAX_CACHED_USERS = ACTIVE_USERS * 0.6
const CONNECTIONS = 128
const HOUR = 3_600_000

/** The model in docs/scale.md: what a process holds in MiB, by its users with one secret each, and how far a run may be from it. */
const heldByModel = (users: number) => 50 + (1.2 * users) / 1024
const MARGIN_MEBIBYTES = 15

/** The flags of `npm start`, and what lets the memory be asked for. */
const NODE_OPTIONS = '--max-semi-space-size=8 --inspect=127.0.0.1:0'

/** Share of the requests that may come to another replica: HAProxy sends them there while a health check fails, as on a busy machine. */
const ELSEWHERE = 0.2
/** Reads of a user that a change of one may cost, and what the replicas read by themselves meanwhile. */
const FEW_READS = 100

interface Replica extends KeyturnProcess {
  readonly metricsUrl: string
  /** After the start, in MiB. */
  readonly heldAtStart: number
}

/** How look-ups of users went, and how many users are in memory. */
interface Lookups {
  readonly hits: number
  readonly misses: number
  readonly entries: number
}

const CLIENTS = derivedClients(ACTIVE_USERS)
let postgres: TestPostgres
let folder: string
let url: string
let databaseUrl: string
let balancer: HaProxy
const replicas: Replica[] = []
/** At the start, after the first request of each user, and after the second. */
let lookups: Lookups[][] = []

async function startAll(): Promise<void> {
  postgres = sharedPostgres()
  folder = await temporaryFolder()
  url = `http://127.0.0.1:${await freePort()}`
  databaseUrl = await postgres.createMigratedDatabase()
  const masterKey = generateMasterKey()
  const env = {
    KEYTURN_DATABASE_URL: databaseUrl,
    KEYTURN_MASTER_KEYS: masterKey,
    KEYTURN_BASE_URL: url,
    KEYTURN_MAX_CACHED_USERS: String(MAX_CACHED_USERS),
    KEYTURN_LOG_LEVEL: 'warn',
    NODE_OPTIONS,
  }
  for (let count = 0; count < 2; count += 1) replicas.push(await startReplica(env))
  const addresses = replicas.map(({ listenUrl }) => new URL(listenUrl).host)
  balancer = await startHaProxy(url, addresses, { balance: 'client' })
  const { client_id: clientId, client_secret: clientSecret } = await replicas[0]!.admin()
  const administrator = new Administrator({ url, tokenUrl: `${url}${OAUTH_PATHS.token}` }, { clientId, clientSecret })
  await administrator.signWith('ES256')
  await insertClients(ACTIVE_USERS, { databaseUrl, masterKey }, postgres)
  // A change that says whom it concerns, after one that did not.
  await administrator.createProject('after')

  lookups = [await lookupsNow()]
  for (const round of ['first', 'second']) {
    const startedAt = performance.now()
    await requestTokens()
    lookups.push(await lookupsNow())
    print({ round, seconds: Math.round((performance.now() - startedAt) / 1000), lookups: lookups.at(-1) })
  }
}

async function stopAll(): Promise<void> {
  await balancer?.stop()
  await stopReplicas()
  if (folder !== undefined) await removeFolder(folder)
  await postgres?.stop()
}

describeUnless(WITHOUT_HAPROXY)(`two replicas behind HAProxy with ${ACTIVE_USERS} active users`, () => {
  beforeAll(startAll, HOUR)
  afterAll(stopAll)

  it('read each user once, on one of them, and answer from memory from then on', () => {
    const [start, first, second] = lookups.map(sumOf)
    const firstMisses = first!.misses - start!.misses
    expect(firstMisses).toBeGreaterThanOrEqual(ACTIVE_USERS)
    expect(firstMisses).toBeLessThan(ACTIVE_USERS * (1 + ELSEWHERE))
    expect(second!.misses - first!.misses).toBeLessThan(ACTIVE_USERS * ELSEWHERE)
    expect(second!.hits - first!.hits).toBeGreaterThan(ACTIVE_USERS * (1 - ELSEWHERE))
    const shares = lookups[2]!.map(({ entries }) => entries / ACTIVE_USERS)
    for (const share of shares) expect(Math.abs(share - 0.5)).toBeLessThan(0.08)
  })

  it('hold as much memory as docs/scale.md says', async () => {
    for (const [index, replica] of replicas.entries()) {
      const { entries } = lookups[2]![index]!
      const resident = residentMegabytesOf([replica.process.pid!])
      const held = await heldMebibytes(replica)
      print({ entries, heldAtStart: replica.heldAtStart, held, resident })
      expect(Math.abs(held - heldByModel(entries))).toBeLessThan(MARGIN_MEBIBYTES)
    }
  })

  it('refuse a secret that was deactivated, and read only its user again', async () => {
    // PostgreSQL counts late, for an idle connection within ten seconds.
    const before = await eventually(async () => {
      const reads = await readsOfUsers()
      expect(reads).toBeGreaterThanOrEqual(ACTIVE_USERS)
      return reads
    })
    const client = CLIENTS[0]!
    for (const { listenUrl } of replicas) expect(await statusAt(listenUrl, client)).toBe(200)
    const administration = await administrationOf(replicas[0]!)
    const userId = client.clientId.split('@')[0]!
    const { secrets } = await administration.users.listClientSecrets({ userId })
    await administration.users.deactivateClientSecret({ userId, secretId: secrets[0]!.secretId })
    const startedAt = performance.now()
    const refused = replicas.map(({ listenUrl }) => {
      return eventually(async () => expect(await statusAt(listenUrl, client)).toBe(401))
    })
    await Promise.all(refused)
    const refusedAfterMillis = Math.round(performance.now() - startedAt)

    // Connections that end say what they have counted.
    await balancer.stop()
    await stopReplicas()
    const reads = (await readsOfUsers()) - before
    print({ refusedAfterMillis, reads, timesDown: balancer.log().match(/ is DOWN/g)?.length ?? 0 })
    expect(reads).toBeLessThan(FEW_READS)
  })
})

async function startReplica(env: Readonly<Record<string, string>>): Promise<Replica> {
  const metrics = `127.0.0.1:${await freePort()}`
  const keyturn = await startKeyturn({ env: { ...env, KEYTURN_METRICS_LISTEN: metrics }, dataDir: folder })
  return { ...keyturn, metricsUrl: `http://${metrics}/metrics`, heldAtStart: await heldMebibytes(keyturn) }
}

async function stopReplicas(): Promise<void> {
  for (const replica of replicas.splice(0)) await replica.stop()
}

/** One request of each client, through HAProxy. @throws {Error} unless all get tokens. */
async function requestTokens(): Promise<void> {
  let next = 0
  const ask = async () => {
    const connection = new Connection(url)
    for (let client = CLIENTS[next++]; client !== undefined; client = CLIENTS[next++]) {
      const status = await statusOn(connection, url, client)
      if (status !== 200) throw new Error(`a client got ${status}`)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, ask))
}

async function statusAt(server: string, client: Client): Promise<number> {
  const connection = new Connection(server)
  try {
    return await statusOn(connection, server, client)
  } finally {
    connection.close()
  }
}

function statusOn(connection: Connection, server: string, client: Client): Promise<number> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const request = postRequest(`${server}${OAUTH_PATHS.token}`, { headers, body: tokenForm(client) })
  return new Promise((resolve, reject) => {
    connection.ask(request, (answer) => (answer instanceof Error ? reject(answer) : resolve(answer.status)))
  })
}

function lookupsNow(): Promise<Lookups[]> {
  return Promise.all(
    replicas.map(async ({ metricsUrl }) => {
      const metrics = parsePrometheusText(await (await fetch(metricsUrl)).text())
      const samples = metrics.get('keyturn_identity_cache_lookups_total')?.samples ?? []
      const of = (result: string) => samples.find(({ labels }) => labels.result === result)?.value ?? 0
      const entries = metrics.get('keyturn_identity_cache_entries')?.samples[0]?.value ?? 0
      return { hits: of('hit'), misses: of('miss'), entries }
    }),
  )
}

function sumOf(lookups: readonly Lookups[]): Pick<Lookups, 'hits' | 'misses'> {
  const sum = (of: 'hits' | 'misses') => lookups.reduce((total, one) => total + one[of], 0)
  return { hits: sum('hits'), misses: sum('misses') }
}

/** How often a user was read from the database so far: each time its keys are looked for once. */
async function readsOfUsers(): Promise<number> {
  const [row] = await postgres.query<{ scans: string }>(
    `select idx_scan + seq_scan as scans from pg_stat_user_tables where relname = 'user_keys'`,
    [],
    databaseUrl,
  )
  return Number(row?.scans)
}

function print(figures: object): void {
  process.stderr.write(`${JSON.stringify(figures)}\n`)
}
