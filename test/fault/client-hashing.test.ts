/**
 * Replicas behind HAProxy, with the configuration in `deploy/haproxy` and `BALANCE=client`: each client has a replica.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Administrator } from '../../bench/contenders/administrator.ts'
import { derivedClients } from '../../bench/contenders/clients.ts'
import { insertClients } from '../../bench/contenders/keyturn.ts'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { OAUTH_PATHS } from '../../src/oauth/requests/endpoints.ts'
import { eventually } from '../support/eventually.ts'
import { HAPROXY_CONFIG, type HaProxy, startHaProxy, WITHOUT_HAPROXY } from '../support/haproxy.ts'
import { type Keyturn, removeFolder, startKeyturn, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import { freePort, type TestPostgres } from '../support/postgres.ts'
import { describeUnless } from '../support/unless.ts'

type Client = ReturnType<typeof derivedClients>[number]
/** The fields of a token request, and perhaps an `Authorization`. */
interface Question {
  readonly form: Readonly<Record<string, string>>
  readonly authorization?: string
}

/** Odd numbers of them: requests that go round two replicas would come to others in each round. */
const CLIENTS = derivedClients(61)
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

let postgres: TestPostgres
let folder: string
let url: string
let env: Record<string, string>
let replicas: Keyturn[]
let balancer: HaProxy
let rounds: number

beforeEach(async () => {
  if (WITHOUT_HAPROXY !== undefined) return
  postgres = sharedPostgres()
  folder = await temporaryFolder()
  url = `http://127.0.0.1:${await freePort()}`
  rounds = 0
  const databaseUrl = await postgres.createMigratedDatabase()
  const masterKey = generateMasterKey()
  env = { KEYTURN_DATABASE_URL: databaseUrl, KEYTURN_MASTER_KEYS: masterKey, KEYTURN_BASE_URL: url }
  replicas = [await startReplica(), await startReplica()]
  await insertClients(CLIENTS.length, { databaseUrl, masterKey }, postgres)
  await startBalancer()
})
afterEach(async () => {
  if (WITHOUT_HAPROXY !== undefined) return
  await balancer.stop()
  for (const replica of replicas) await replica.stop()
  await removeFolder(folder)
  await postgres.stop()
})

describeUnless(WITHOUT_HAPROXY)('a client of two replicas behind HAProxy', () => {
  it('stays on one of them, whether it names itself in the body, by HTTP Basic or with an assertion', async () => {
    const clients = CLIENTS.slice(0, 31)
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const administrator = await firstAdministrator()
    for (const client of clients) await administrator.addKey(client, await exportJWK(publicKey))
    const assertionOf = ({ clientId }: Client) => signed(privateKey, { iss: clientId, sub: clientId })

    const inBody = await homesOf(clients, secretInBody)
    expect(new Set(inBody)).toEqual(new Set(['keyturn-1', 'keyturn-2']))
    expect(await homesOf(clients, secretByBasic)).toEqual(inBody)
    expect(await homesOf(clients, (client) => secretByBasic(client, String))).toEqual(inBody)
    expect(await homesOf(clients, async (client) => withAssertion(await assertionOf(client)))).toEqual(inBody)
    const withBoth = async (client: Client) => withAssertion(await assertionOf(client), { client_id: client.clientId })
    expect(await homesOf(clients, withBoth)).toEqual(inBody)
  })

  it('gets its tokens from the other one while its own is away, and goes home afterwards', async () => {
    await balancer.stop()
    await replicas.shift()?.stop()
    const listen = { KEYTURN_LISTEN: `127.0.0.1:${await freePort()}` }
    const victim = await startKeyturn({ env: { ...env, ...listen }, dataDir: folder })
    replicas.unshift(victim)
    await startBalancer()
    const homes = await homesOf(CLIENTS, secretInBody)

    const load = startLoad()
    await eventually(() => expect(load.tokens()).toBeGreaterThan(200))
    await victim.kill()
    const before = load.tokens()
    await eventually(() => expect(load.tokens()).toBeGreaterThan(before + 500))
    expect(await load.stop()).toEqual([])
    expect(await homesOf(CLIENTS, secretInBody)).toEqual(CLIENTS.map(() => 'keyturn-2'))

    replicas[0] = await startKeyturn({ env: { ...env, ...listen }, dataDir: folder })
    await eventually(() => expect(balancer.log()).toMatch(/keyturn-1 is UP/))
    expect(await homesOf(CLIENTS, secretInBody)).toEqual(homes)
    expect(await homesOf(CLIENTS, secretInBody)).toEqual(homes)
  })
})

function startReplica(): Promise<Keyturn> {
  return startKeyturnInProcess({ env, dataDir: folder })
}

async function startBalancer(config: string = HAPROXY_CONFIG): Promise<void> {
  const addresses = replicas.map(({ listenUrl }) => new URL(listenUrl).host)
  balancer = await startHaProxy(url, addresses, { config, balance: 'client' })
}

async function firstAdministrator(): Promise<Administrator> {
  const { client_id: clientId, client_secret: clientSecret } = await replicas[0]!.admin()
  return new Administrator({ url, tokenUrl: `${url}${OAUTH_PATHS.token}` }, { clientId, clientSecret })
}

function secretInBody({ clientId, clientSecret }: Client): Question {
  return { form: { client_id: clientId, client_secret: clientSecret } }
}

/** Both parts are encoded (RFC 6749 §2.3.1), which many clients leave out. */
function secretByBasic({ clientId, clientSecret }: Client, encode: (text: string) => string = encodeURIComponent) {
  return { form: {}, authorization: `Basic ${btoa(`${encode(clientId)}:${encode(clientSecret)}`)}` }
}

function withAssertion(assertion: string, more: Question['form'] = {}): Question {
  return { form: { ...more, client_assertion_type: ASSERTION_TYPE, client_assertion: assertion } }
}

function signed(
  key: Parameters<SignJWT['sign']>[0],
  claims: { readonly iss: string; readonly sub: string },
): Promise<string> {
  const jwt = new SignJWT({ ...claims, aud: url, jti: randomUUID() })
  return jwt.setProtectedHeader({ alg: 'ES256' }).setIssuedAt().setExpirationTime('5 minutes').sign(key)
}

/** Asks for a token. @param tag Ends up in the log of HAProxy. */
async function requestToken({ form, authorization }: Question, tag: string): Promise<Response> {
  return await fetch(`${url}${OAUTH_PATHS.token}?${tag}`, {
    method: 'POST',
    headers: authorization === undefined ? {} : { authorization },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
  })
}

/** The replicas that give these clients a token each, one after the other. */
function homesOf(
  clients: readonly Client[],
  question: (client: Client) => Question | Promise<Question>,
): Promise<string[]> {
  return serversOf(clients.length, async (tag, index) => {
    const response = await requestToken(await question(clients[index]!), tag)
    const body = await response.text()
    if (!response.ok) throw new Error(`no token: ${response.status} ${body}`)
  })
}

/** The servers that answer so many requests, by the log of HAProxy. */
async function serversOf(count: number, ask: (tag: string, index: number) => Promise<void>): Promise<string[]> {
  const round = `round-${++rounds}-`
  for (let index = 0; index < count; index += 1) await ask(`${round}${index}`, index)
  return await eventually(() => {
    const lines = balancer.log().matchAll(/ keyturn\/(\S+) .*"\S+ \S+\?(\S+) HTTP/g)
    const servers = new Map([...lines].map(([, server = '', tag = '']) => [tag, server]))
    const found = Array.from({ length: count }, (_, index) => servers.get(`${round}${index}`) ?? '')
    expect(found).not.toContain('')
    return found
  })
}

/** Clients that ask all the time. */
function startLoad() {
  let stopped = false
  let tokens = 0
  const failures: string[] = []
  const ask = async (first: number) => {
    for (let next = first; !stopped; next += 1) {
      const outcome = await requestToken(secretInBody(CLIENTS[next % CLIENTS.length]!), 'load').then(outcomeOf, String)
      if (outcome === 'ok') tokens += 1
      else failures.push(outcome)
    }
  }
  const running = [0, 15, 30, 45].map(ask)
  const stop = async (): Promise<readonly string[]> => {
    stopped = true
    await Promise.all(running)
    return failures
  }
  return { tokens: () => tokens, stop }
}

async function outcomeOf(response: Response): Promise<string> {
  await response.arrayBuffer()
  return response.ok ? 'ok' : `status ${response.status}`
}
