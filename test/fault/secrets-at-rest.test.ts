import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey, parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../src/crypto/sealed-key.ts'
import { parseKeyAlgorithm } from '../../src/domain/keys/key-algorithm.ts'
import { openBrowser } from '../support/console-browser.ts'
import { openEmbeddedDatabase } from '../support/embedded-database.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AdminCredentials,
  type KeyturnProcess,
  removeFolder,
  startKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { TEST_PASSWORD } from '../support/new-database.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import {
  findSecrets,
  findSecretsBelow,
  PRIVATE_KEY_MARKERS,
  type Secret,
  secretKey,
  secretText,
} from '../support/secret-search.ts'
import { processesOn } from '../support/server-processes.ts'

const WRONG_SECRET = 'a-wrong-secret-that-somebody-sent-by-mistake'
const CONFIGS = [
  { rsa: { bits: 'RSA_BITS_2048', hasher: 'RSA_HASHER_SHA256' } },
  { rsa: { bits: 'RSA_BITS_3072', hasher: 'RSA_HASHER_SHA384' } },
  { rsa: { bits: 'RSA_BITS_4096', hasher: 'RSA_HASHER_SHA512' } },
  { ecdsa: { curve: 'ECDSA_CURVE_P256' } },
  { ecdsa: { curve: 'ECDSA_CURVE_P384' } },
  { ecdsa: { curve: 'ECDSA_CURVE_P521' } },
  { ed25519: {} },
]

let folder: string
let server: KeyturnProcess | undefined
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterEach(async () => {
  await server?.kill()
  server = undefined
})
afterAll(() => removeFolder(folder))

async function start(env: Record<string, string> = {}): Promise<KeyturnProcess> {
  server = await startKeyturn({ dataDir: folder, env: { ...env, KEYTURN_LOG_LEVEL: 'trace' } })
  return server
}

async function askForToken(
  { listenUrl }: KeyturnProcess,
  { client_id, client_secret }: AdminCredentials,
  way: 'body' | 'basic',
) {
  const scope = 'openid urn:service:iam:org:project:id:service:aud'
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope })
  const headers: Record<string, string> = {}
  if (way === 'basic')
    headers.authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`
  else for (const [name, value] of Object.entries({ client_id, client_secret })) body.set(name, value)
  const response = await fetch(`${listenUrl}/oauth/v2/token`, { method: 'POST', body, headers })
  return (await response.json()) as { access_token?: string; error?: string }
}

/** Does everything that a client can do, right and wrong, and returns every token and a secret that was sent. */
async function useEverything(running: KeyturnProcess, { remove }: { remove: boolean }): Promise<Secret[]> {
  const admin = await running.admin()
  const tokens: string[] = []
  for (const way of ['body', 'basic'] as const) {
    tokens.push((await askForToken(running, admin, way)).access_token!)
    expect(await askForToken(running, { ...admin, client_secret: WRONG_SECRET }, way)).toMatchObject({
      error: 'invalid_client',
    })
  }
  const call = async (method: string, request: object, token = tokens[0]) => {
    const response = await fetch(`${running.listenUrl}/iam.webkey.v2beta.WebKeyService/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(request),
    })
    return { status: response.status, answer: (await response.json()) as { details: { keyId: string } } }
  }

  for (const config of CONFIGS) {
    const { status, answer } = await call('CreateWebKey', { config })
    expect(status).toBe(200)
    const { keyId } = answer.details
    expect(await call('DeleteWebKey', { keyId })).toMatchObject({ status: 400 })
    expect(await call('ActivateWebKey', { keyId })).toMatchObject({ status: 200 })
    expect(await call('DeleteWebKey', { keyId })).toMatchObject({ status: 400 })
    tokens.push((await askForToken(running, admin, 'basic')).access_token!)
  }
  const { answer } = await call('ListWebKeys', {})
  const [first] = (answer as unknown as { webKeys: { keyId: string; state: string }[] }).webKeys
  expect(first).toMatchObject({ state: 'STATE_INACTIVE' })
  if (remove) expect(await call('DeleteWebKey', { keyId: first!.keyId })).toMatchObject({ status: 200 })

  expect(await call('CreateWebKey', { config: { rsa: { bits: 'RSA_BITS_1' } } })).toMatchObject({ status: 400 })
  expect(await call('ActivateWebKey', { keyId: WRONG_SECRET })).toMatchObject({ status: 404 })
  expect(await call('ListWebKeys', {}, `${tokens[0]}x`)).toMatchObject({ status: 401 })
  await fetch(`${running.listenUrl}/oauth/v2/token`, { method: 'POST', body: `client_secret=${admin.client_secret}` })
  await fetch(`${running.listenUrl}/oauth/v2/token?client_secret=${admin.client_secret}`)

  const browsing = await useConsole(running, tokens.at(-1)!)
  const signing = await useWebhook(running, tokens.at(-1)!)

  // Header and claims are no secret; without the signature nobody accepts them.
  const signatures = tokens.map((token, i) => secretText(`access token ${i + 1}`, token.split('.')[2]!))
  return [...signatures, ...browsing, ...signing, secretText('the client secret', admin.client_secret)]
}

/** Signs in at the console, and uses the session, right and wrong. */
async function useConsole(running: KeyturnProcess, token: string): Promise<Secret[]> {
  const asked = await fetch(`${running.listenUrl}/iam.console.v2.ConsoleService/CreateSignInLink`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: '{}',
  })
  const { url } = (await asked.json()) as { url: string }
  const code = new URL(url).hash.slice('#code='.length)
  const browser = openBrowser(running)
  expect((await browser.signIn(code)).status).toBe(204)
  expect((await browser.signIn(code)).status).toBe(401)
  const cookie = browser.cookie!.split('=')[1]!
  expect((await browser.call('iam.project.v2.ProjectService/ListProjects')).status).toBe(200)
  browser.cookie = `keyturn_console=${cookie.slice(0, -1)}`
  expect((await browser.call('iam.project.v2.ProjectService/ListProjects')).status).toBe(401)
  return [secretText('the code of a sign-in link', code), secretText('the cookie of a session', cookie)]
}

/** Makes a webhook whose receiver is not there, has events signed for it, and returns its secrets. */
async function useWebhook(running: KeyturnProcess, token: string): Promise<Secret[]> {
  const call = async (method: string, request: object) => {
    const response = await fetch(`${running.listenUrl}/iam.event.v2.WebhookService/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(request),
    })
    expect(response.status).toBe(200)
    return (await response.json()) as { webhook: { webhookId: string }; secret: string; failure: string }
  }
  const name = `hook-${randomBytes(4).toString('hex')}`
  const { webhook, secret: first } = await call('CreateWebhook', { name, url: 'https://127.0.0.1:1/' })
  const { webhookId } = webhook
  const { secret } = await call('RotateWebhookSecret', { webhookId })
  expect((await call('TestWebhook', { webhookId })).failure).toContain('which is not allowed')
  return [first, secret].map((each) => secretText('the signing secret of a webhook', each.replace('whsec_', '')))
}

/** Every private key in the database, opened with the master key. */
async function openEveryKey(
  rows: readonly { key_id: string; algorithm: string; sealed_private_key: string; public_jwk: string }[],
  masterKeys: string,
): Promise<Secret[]> {
  const sealer = createKeySealer(parseMasterKeys(masterKeys))
  return await Promise.all(
    rows.map(async ({ key_id: keyId, algorithm, sealed_private_key, public_jwk }) => {
      const key = await sealer.open(sealed_private_key, { keyId, algorithm: parseKeyAlgorithm(algorithm) })
      // The test looks for the right thing: this is the private half of the key that is published.
      expect(createPublicKey(key).export({ format: 'jwk' })).toEqual(JSON.parse(public_jwk))
      return secretKey(`the private key of ${algorithm} key ${keyId}`, key)
    }),
  )
}

function masterKeySecret(masterKeys: string): Secret {
  return secretText('the master key', masterKeys.trim().split(':')[1]!)
}

const EVERY_KEY = 'select key_id, algorithm, sealed_private_key, public_jwk from web_keys order by creation_date'

function printedBy(running: KeyturnProcess): Buffer {
  const { stdout, stderr } = running.output()
  expect(stderr).toContain('web key created')
  return Buffer.from(stdout + stderr)
}

describe('the search of these tests', () => {
  const keys: [string, KeyObject][] = [
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
    ['P-256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
    ['P-521', generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey],
    ['Ed25519', generateKeyPairSync('ed25519').privateKey],
  ]
  const around = (planted: Buffer | string) =>
    Buffer.concat([randomBytes(100), Buffer.from(planted as string), randomBytes(100)])

  it.each(keys)('finds a planted %s key in any form', (_, key) => {
    const secret = [secretKey('it', key)]
    const der = key.export({ format: 'der', type: 'pkcs8' })
    const jwk = key.export({ format: 'jwk' }) as { d: string }
    const forms = [
      der,
      der.toString('hex'),
      der.toString('base64'),
      der.toString('base64url'),
      Buffer.concat([Buffer.from('x'), der]).toString('base64'),
      Buffer.concat([Buffer.from('xx'), der]).toString('base64'),
      JSON.stringify(jwk),
      jwk.d,
      Buffer.from(jwk.d, 'base64url'),
      Buffer.from(jwk.d, 'base64url').toString('hex').toUpperCase(),
    ]
    for (const form of forms) expect(findSecrets(around(form), secret)).toEqual(['it'])
    expect(findSecrets(around(key.export({ format: 'pem', type: 'pkcs8' })), [PRIVATE_KEY_MARKERS])).toHaveLength(1)
    expect(findSecrets(around(JSON.stringify(jwk)), [PRIVATE_KEY_MARKERS])).toHaveLength(1)
    expect(findSecrets(around(JSON.stringify({ log: JSON.stringify(jwk) })), [PRIVATE_KEY_MARKERS])).toHaveLength(1)
    expect(findSecrets(around(createPublicKey(key).export({ format: 'der', type: 'spki' })), secret)).toEqual([])
  })
})

describe('a server on PostgreSQL', () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(async () => {
    await postgres?.stop()
  })

  it('leaves no secret in the database, its files, the log or the list of processes [Spec §1, §2.2]', async () => {
    const url = await postgres.createDatabase()
    const masterKeys = generateMasterKey()
    const running = await start({ KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: masterKeys })
    const used = await useEverything(running, { remove: false })
    const keys = await openEveryKey(await postgres.query(EVERY_KEY, [], url), masterKeys)
    expect(keys).toHaveLength(CONFIGS.length + 1)
    const secrets = [...used, ...keys, masterKeySecret(masterKeys), PRIVATE_KEY_MARKERS]

    const again = await useEverything(running, { remove: true })
    const commandLine = await readFile(`/proc/${running.process.pid}/cmdline`)
    expect(await running.stop()).toBe(0)

    const everything = [...secrets, ...again]
    expect(findSecrets(await dump(postgres, url), everything)).toEqual([])
    const [settings] = await postgres.query<{ data_directory: string }>('show data_directory')
    await postgres.query('checkpoint')
    expect(await findSecretsBelow(join(settings!.data_directory, 'base'), everything)).toEqual([])
    expect(await findSecretsBelow(join(settings!.data_directory, 'pg_wal'), everything)).toEqual([])

    const sent = [secretText('a wrong secret', WRONG_SECRET), secretText('the password', TEST_PASSWORD)]
    expect(findSecrets(printedBy(running), [...everything, ...sent])).toEqual([])
    expect(findSecrets(commandLine, [...everything, ...sent])).toEqual([])
  })
})

describe('a server with an embedded database', () => {
  it('leaves no secret but in the two files that are made for one [Spec §1, §2.2]', async () => {
    const dataDir = join(folder, 'embedded')
    const first = await startKeyturn({ dataDir, env: { KEYTURN_LOG_LEVEL: 'trace' } })
    server = first
    const used = await useEverything(first, { remove: false })
    const commandLine = await readFile(`/proc/${first.process.pid}/cmdline`)
    expect(await first.stop()).toBe(0)

    const masterKeys = await readFile(join(dataDir, 'master.key'), 'utf8')
    const database = await openEmbeddedDatabase(dataDir)
    const rows = await database.db
      .selectFrom('web_keys')
      .select(['key_id', 'algorithm', 'sealed_private_key', 'public_jwk'])
      .$narrowType<{ sealed_private_key: string }>()
      .execute()
      .finally(() => database.close())
    const keys = await openEveryKey(rows, masterKeys)
    expect(keys).toHaveLength(CONFIGS.length + 1)

    const second = await startKeyturn({ dataDir, env: { KEYTURN_LOG_LEVEL: 'trace' } })
    server = second
    const again = await useEverything(second, { remove: true })
    await second.kill()
    // PostgreSQL ends by itself then, and removes files.
    await eventually(async () => expect(await processesOn(join(dataDir, 'postgres'))).toEqual([]))

    const secrets = [...used, ...again, ...keys, masterKeySecret(masterKeys), PRIVATE_KEY_MARKERS]
    expect(await findSecretsBelow(dataDir, secrets, ['admin.json', 'master.key'])).toEqual([])
    // Nothing but these two: the search finds them where they belong.
    expect((await findSecretsBelow(dataDir, secrets)).map(({ file }) => file).sort()).toEqual([
      join(dataDir, 'admin.json'),
      join(dataDir, 'master.key'),
    ])
    const sent = [...secrets, secretText('a wrong secret', WRONG_SECRET)]
    expect(findSecrets(printedBy(first), sent)).toEqual([])
    expect(findSecrets(printedBy(second), sent)).toEqual([])
    expect(findSecrets(commandLine, sent)).toEqual([])
  })
})

/** Every row of every table as text, as `pg_dump` would print it. */
async function dump(postgres: TestPostgres, url: string): Promise<Buffer> {
  const tables = await postgres.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    [],
    url,
  )
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['public.credentials', 'public.web_keys']))
  const lines: string[] = []
  for (const { name } of tables) {
    const rows = await postgres.query<{ line: string }>(`select t::text as line from ${name} t`, [], url)
    lines.push(...rows.map(({ line }) => line))
  }
  // A JWE is not encrypted as a whole: its header is only encoded.
  const jwes = lines.flatMap((line) => line.match(/[\w-]+(\.[\w-]*){4}/g) ?? [])
  expect(jwes.length).toBeGreaterThan(0)
  const parts = jwes.flatMap((jwe) => jwe.split('.')).map((part) => Buffer.from(part, 'base64url').toString('latin1'))
  return Buffer.from([...lines, ...parts].join('\n'), 'latin1')
}
