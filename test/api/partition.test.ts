/**
 * A replica that does not hear of changes, and one that is cut off from the database while another one is not: what they do not
 * know they do not deny.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader, SignJWT } from 'jose'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { type Administration, administrationWith, NOBODY, refusalOf } from '../support/administration.ts'
import { certificateOf, type TestCertificate } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AdminCredentials,
  type Keyturn,
  removeServers,
  requestToken,
  startKeyturnInProcess,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const ISSUER = 'http://localhost:1'
const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

let postgres: TestPostgres
let databasePort: number
let proxy: TcpProxy
/** Reaches the database always. */
let here: Keyturn
/** Reaches it through the proxy, and compares versions only: it hears of nothing sooner. */
let there: Keyturn
let owner: AdminCredentials
let admin: Administration
let projectId: string

beforeAll(async () => {
  postgres = sharedPostgres()
  const url = new URL(await postgres.createMigratedDatabase())
  databasePort = Number(url.port)
  proxy = await startTcpProxy(databasePort)
  const env = {
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    KEYTURN_BASE_URL: ISSUER,
    KEYTURN_ACTIVATION_GUARD: 'off',
    KEYTURN_CHANGE_FEED: 'poll',
    // The test is the proxy.
    KEYTURN_MTLS: 'client-cert',
    KEYTURN_TRUSTED_PROXIES: '127.0.0.1',
  }
  here = await startKeyturnInProcess({ env: { ...env, KEYTURN_DATABASE_URL: url.href } })
  url.port = String(proxy.port)
  there = await startKeyturnInProcess({ env: { ...env, KEYTURN_DATABASE_URL: url.href } })
  owner = { ...(await here.admin()), token_endpoint: `${here.listenUrl}/oauth/v2/token` }
  admin = administrationWith(here, await requestToken(owner))
  projectId = (await admin.projects.createProject({ name: 'shop' })).project!.projectId
  await admin.projects.addProjectScope({ projectId, scope: 'print' })
})
afterAll(async () => {
  await removeServers(here, there)
  await proxy?.close()
  await postgres?.stop()
})

interface Client {
  readonly userId: string
  readonly clientId: string
  readonly clientSecret: string
}

async function newSecret(userId: string): Promise<Client> {
  const { clientId, clientSecret } = await admin.users.generateClientSecret({ userId })
  return { userId, clientId, clientSecret }
}

/** A user whom the other replica has in memory. */
async function newClient(): Promise<Client> {
  const { serviceUser } = await admin.users.createServiceUser({
    projectId,
    name: 'cart',
    clientCredentialsEnabled: true,
  })
  const client = await newSecret(serviceUser!.userId)
  expect(await answer(client)).toEqual(GRANTED)
  return client
}

function ask(form: Record<string, string>, server = there): Promise<Response> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...form })
  return fetch(`${server.listenUrl}/oauth/v2/token`, { method: 'POST', body })
}

async function summaryOf(response: Response) {
  const { error } = (await response.json()) as { error?: string }
  const retryAfter = response.headers.get('retry-after')
  return { status: response.status, ...(error && { error }), ...(retryAfter && { retryAfter }) }
}

/** What a client gets for its secret. @param more Other fields of the form. */
async function answer({ clientId, clientSecret }: Client, more: Record<string, string> = {}) {
  return summaryOf(await ask({ client_id: clientId, client_secret: clientSecret, ...more }))
}

const GRANTED = { status: 200 }
const REFUSED = { status: 401, error: 'invalid_client' }
const UNAVAILABLE = { status: 503, error: 'temporarily_unavailable', retryAfter: expect.stringMatching(/^\d+$/) }
/** Such a request is not plain, so the engine answers it. */
const BY_THE_ENGINE = { resource: ISSUER }

const signing = generateKeyPairSync('ec', { namedCurve: 'P-256' })

async function assertionOf({ clientId }: Client, header: { kid?: string } = {}) {
  const assertion = await new SignJWT()
    .setProtectedHeader({ alg: 'ES256', ...header })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(ISSUER)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(signing.privateKey)
  return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion }
}

async function addKey(userId: string, kid?: string): Promise<void> {
  const jwk = { ...signing.publicKey.export({ format: 'jwk' }), ...(kid === undefined ? {} : { kid }) }
  await admin.users.addUserKey({ userId, publicJwk: JSON.stringify(jwk) })
}

/** What a client gets for its certificate. */
async function answerTo({ der }: TestCertificate, { clientId }: Client) {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId })
  const headers = { 'client-cert': `:${der.toString('base64')}:` }
  return summaryOf(await fetch(`${there.listenUrl}/oauth/v2/token`, { method: 'POST', body, headers }))
}

async function addCertificate({ userId }: Client, { thumbprint }: TestCertificate): Promise<string> {
  const match = { match: { case: 'thumbprint', value: thumbprint } } as const
  return (await admin.certificates.addClientCertificate({ userId, match })).certificate!.certificateId
}

/** The key set of the replica, and how old it says that it is, in seconds. */
async function publishedThere() {
  const response = await fetch(`${there.listenUrl}/.well-known/openid-configuration/jwks`)
  const { keys } = (await response.json()) as { keys: { kid: string }[] }
  return { age: Number(response.headers.get('age')), keyIds: keys.map(({ kid }) => kid) }
}

/** Connections break, and new ones are refused. */
async function cut(): Promise<void> {
  await proxy.close()
}

async function heal(): Promise<void> {
  proxy = await startTcpProxy(databasePort, proxy.port)
  await eventually(async () => {
    await administrationWith(there, await requestToken(owner)).keys.listWebKeys({})
  })
}

describe('a replica that has not heard of a change, with the database there', () => {
  it('takes a secret that another replica has just made, and one for the engine, at the first try', async () => {
    const client = await newClient()
    expect(await answer(await newSecret(client.userId))).toEqual(GRANTED)
    expect(await answer(await newSecret(client.userId), BY_THE_ENGINE)).toEqual(GRANTED)
    expect(await answer({ ...client, clientSecret: 'wrong' })).toEqual(REFUSED)
    expect(await answer({ ...client, clientSecret: 'wrong' }, BY_THE_ENGINE)).toEqual(REFUSED)
  })

  it('takes a token of a key that was just activated, and a permission that was just given', async () => {
    // Often enough that no comparison of versions comes between each time.
    for (let i = 0; i < 3; i += 1) {
      const { details } = await admin.webKeys.createWebKey(ED25519)
      await admin.webKeys.activateWebKey({ keyId: details!.keyId })
      const token = await requestToken(owner)
      await administrationWith(there, token).keys.listWebKeys({})
    }
    const { userId, clientId, clientSecret } = await newClient()
    const calls = async () => {
      const token = await requestToken({ ...owner, client_id: clientId, client_secret: clientSecret })
      return administrationWith(there, token).keys.listWebKeys({})
    }
    expect(await refusalOf(calls())).toMatchObject({ reason: 'PERMISSION_MISSING' })
    await admin.users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
    await calls()
  })
})

describe('a replica that is cut off from the database', () => {
  let known: Client
  let disabled: Client
  /** Loses a scope, and is disabled, while the replica is cut off. */
  let lost: Client
  let revokedKeyId: string
  let token: string
  const [own, added] = [certificateOf(), certificateOf()]
  /** Of the first one, which is removed while the replica is cut off. */
  let certificateId: string
  let changes: { secret: Client; unmet: Client; token: string }

  beforeAll(async () => {
    known = await newClient()
    disabled = await newClient()
    await admin.users.disableServiceUser({ userId: disabled.userId })
    await eventually(async () => expect(await answer(disabled)).toEqual(REFUSED))
    lost = await newClient()
    await admin.users.grantScope({ userId: lost.userId, scope: 'print' })
    expect(await answer(lost, { scope: 'print' })).toEqual(GRANTED)
    certificateId = await addCertificate(known, own)
    await eventually(async () => expect(await answerTo(own, known)).toEqual(GRANTED))
    const { keyId } = (await admin.webKeys.createWebKey(ED25519)).details!
    await eventually(async () => expect((await publishedThere()).keyIds).toContain(keyId))
    // The last change, and one change: a new key is dated later.
    await admin.keys.revokeWebKey({ keyId })
    await eventually(async () => expect((await publishedThere()).keyIds).not.toContain(keyId))
    // Of users that a replica reads while it is behind it keeps none.
    expect(await answer(known)).toEqual(GRANTED)
    expect(await answer(lost, { scope: 'print' })).toEqual(GRANTED)
    expect(await answerTo(own, known)).toEqual(GRANTED)
    token = await requestToken(owner)
    revokedKeyId = decodeProtectedHeader(token).kid!
    await administrationWith(there, token).keys.listWebKeys({})
    await cut()

    const { details } = await admin.webKeys.createWebKey(ED25519)
    await admin.webKeys.activateWebKey({ keyId: details!.keyId })
    await admin.keys.revokeWebKey({ keyId: revokedKeyId })
    await admin.users.revokeScope({ userId: lost.userId, scope: 'print' })
    await admin.users.disableServiceUser({ userId: lost.userId })
    await admin.users.grantScope({ userId: known.userId, scope: 'print' })
    await admin.users.enableServiceUser({ userId: disabled.userId })
    await admin.users.setInstanceRoles({ userId: known.userId, instanceRoles: [InstanceRole.IAM_OWNER] })
    await addKey(known.userId, 'mine')
    await addCertificate(known, added)
    await admin.certificates.removeClientCertificate({ userId: known.userId, certificateId })
    const { serviceUser } = await admin.users.createServiceUser({
      projectId,
      name: 'x',
      clientCredentialsEnabled: true,
    })
    changes = {
      secret: await newSecret(known.userId),
      unmet: await newSecret(serviceUser!.userId),
      token: await requestToken(owner),
    }
  })

  it.each([
    ['plain requests', {}],
    ['those for the engine', BY_THE_ENGINE],
  ])('issues tokens from memory and refuses nothing that it cannot know: %s', async (_, more) => {
    expect(await answer(known, more)).toEqual(GRANTED)
    expect(await answer(changes.secret, more)).toEqual(UNAVAILABLE)
    expect(await answer(changes.unmet, more)).toEqual(UNAVAILABLE)
    expect(await answer({ ...known, clientSecret: 'wrong' }, more)).toEqual(UNAVAILABLE)
    expect(await answer({ ...known, clientId: `${NOBODY}@shop` }, more)).toEqual(UNAVAILABLE)
    expect(await answer(disabled, more)).toEqual(UNAVAILABLE)
    expect(await answer(known, { scope: 'print', ...more })).toEqual(UNAVAILABLE)
    expect(await summaryOf(await ask({ ...(await assertionOf(known, { kid: 'mine' })), ...more }))).toEqual(UNAVAILABLE)
  })

  it('goes on with a key, a user and a scope that were taken away elsewhere, and its key set says its age', async () => {
    const response = await ask({ client_id: lost.clientId, client_secret: lost.clientSecret, scope: 'print' })
    const { access_token, scope } = (await response.json()) as { access_token: string; scope: string }
    expect(scope).toBe('print')
    expect(decodeProtectedHeader(access_token).kid).toBe(revokedKeyId)
    await eventually(async () => {
      const { age, keyIds } = await publishedThere()
      expect(keyIds).toContain(revokedKeyId)
      expect(age).toBeGreaterThanOrEqual(1)
    })
    // Only administration asks the database.
    const calls = administrationWith(there, token)
    expect(await refusalOf(calls.keys.listWebKeys({}))).toMatchObject({ reason: 'STORAGE_UNAVAILABLE' })
  })

  it('says "unavailable" to a token of a key and to a permission that it may not know, "unauthenticated" to nonsense', async () => {
    const unavailable = { code: 'Unavailable', reason: 'STORAGE_UNAVAILABLE' }
    expect(await refusalOf(administrationWith(there, changes.token).keys.listWebKeys({}))).toMatchObject(unavailable)
    const scope = { scope: SERVICE_AUDIENCE_SCOPE }
    const response = await ask({ client_id: known.clientId, client_secret: known.clientSecret, ...scope })
    const { access_token } = (await response.json()) as { access_token: string }
    expect(await refusalOf(administrationWith(there, access_token).keys.listWebKeys({}))).toMatchObject(unavailable)
    const nonsense = await refusalOf(administrationWith(there, 'made-up').keys.listWebKeys({}))
    expect(nonsense).toMatchObject({ reason: 'TOKEN_INVALID' })
  })

  it('takes all of it when it is back', async () => {
    await heal()
    expect(await answer(changes.secret)).toEqual(GRANTED)
    expect(await answer(disabled)).toEqual(GRANTED)
    expect(await answer(lost)).toEqual(REFUSED)
    expect(await answerTo(added, known)).toEqual(GRANTED)
    expect(await answerTo(own, known)).toEqual(REFUSED)
    expect((await publishedThere()).keyIds).not.toContain(revokedKeyId)
    expect(await answer(known, { scope: 'print' })).toEqual(GRANTED)
    expect(await answer({ ...known, clientSecret: 'wrong' })).toEqual(REFUSED)
    await administrationWith(there, changes.token).keys.listWebKeys({})
  })
})
