/**
 * A row in the database that cannot be read, so that a replica cannot take over what was changed.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationWith, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
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

const KEY_ID = '00000000-0000-4000-8000-000000000001'

let postgres: TestPostgres
let url: string
let proxy: TcpProxy
let server: Keyturn
let metricsPort: number
let owner: AdminCredentials
let admin: Administration

beforeAll(async () => {
  postgres = sharedPostgres()
  url = await postgres.createMigratedDatabase()
  const throughProxy = new URL(url)
  proxy = await startTcpProxy(Number(throughProxy.port))
  throughProxy.port = String(proxy.port)
  metricsPort = await freePort()
  server = await startKeyturnInProcess({
    env: {
      KEYTURN_DATABASE_URL: throughProxy.href,
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
      KEYTURN_MAX_STALENESS: '5',
    },
  })
  owner = await server.admin()
  admin = administrationWith(server, await requestToken(owner))
})
afterAll(async () => {
  await removeServers(server)
  await proxy?.close()
  await postgres?.stop()
})

const query = (text: string, values: unknown[] = []) => postgres.query(text, values, url)

async function newUser(name: string): Promise<AdminCredentials & { readonly userId: string }> {
  const { projects } = await admin.projects.listProjects({})
  const facts = { projectId: projects[0]!.projectId, name, clientCredentialsEnabled: true }
  const { userId } = (await admin.users.createServiceUser(facts)).serviceUser!
  const { clientId, clientSecret } = await admin.users.generateClientSecret({ userId })
  return { ...owner, userId, client_id: clientId, client_secret: clientSecret }
}

/** A public key without content, and a MAC that fits nothing. */
async function breakRowOf(userId: string): Promise<void> {
  await query(
    `insert into credentials (credential_id, user_id, kind, content, creation_date, mac)
      values ($1, $2, 'user_key', '{}', now(), $3)`,
    [KEY_ID, userId, Buffer.alloc(32)],
  )
}

const mend = () => query('delete from credentials where credential_id = $1', [KEY_ID])

const statusOf = async (credentials: AdminCredentials) => {
  const { client_id, client_secret, token_endpoint } = credentials
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  const response = await fetch(token_endpoint, { method: 'POST', body })
  await response.body?.cancel()
  return response.status
}

async function readiness() {
  const response = await fetch(`${server.listenUrl}/readyz`)
  return { status: response.status, body: (await response.json()) as { reason?: string } }
}

async function unreadable(): Promise<string[]> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return text.split('\n').filter((line) => line.startsWith('keyturn_replica_unreadable{'))
}

const NOT_IN_FORCE = {
  code: 'Unavailable',
  reason: 'CHANGE_NOT_IN_FORCE',
  message: expect.stringMatching(/^the change is stored, but /),
}

describe('a row that cannot be read, of a user who is not in memory', () => {
  it('makes what is asked of that user unavailable, says which row it is, and is in the way of nothing else', async () => {
    const stranger = await newUser('stranger')
    await breakRowOf(stranger.userId)
    expect(await statusOf(stranger)).toBe(503)
    const calls = [
      () => admin.users.getServiceUser({ userId: stranger.userId }),
      () => admin.users.disableServiceUser({ userId: stranger.userId }),
      () => admin.users.listServiceUsers({}),
    ]
    for (const call of calls) {
      expect(await refusalOf(call())).toEqual({
        code: 'Unavailable',
        reason: 'STORAGE_UNAVAILABLE',
        message: 'what is asked for cannot be read from the database, the log says why',
      })
    }
    const naming = new RegExp(`service user ${stranger.userId} in the database is not valid`)
    const lines = server.output().stderr.split('\n')
    // Once a minute for tokens, and once a minute for administration.
    expect(lines.filter((line) => naming.test(line))).toHaveLength(2)
    expect((await readiness()).status).toBe(200)
    expect(await statusOf(owner)).toBe(200)

    await mend()
    expect(await statusOf(stranger)).toBe(200)
  })
})

describe('a replica that cannot take over a change, because of a row that cannot be read', () => {
  it('says so to its caller, refuses administration, is not ready, stops, and recovers with the row', async () => {
    const [victim, other] = [await newUser('victim'), await newUser('other')]
    for (const user of [victim, other, owner]) expect(await statusOf(user)).toBe(200)
    expect(await unreadable()).toEqual(['keyturn_replica_unreadable{kind="none",id=""} 0'])
    await breakRowOf(other.userId)
    const projectId = (await admin.projects.listProjects({})).projects[0]!.projectId
    const addScope = () => admin.projects.addProjectScope({ projectId, scope: 'victim' })

    // A change of another user does not read it.
    await admin.users.disableServiceUser({ userId: victim.userId })
    expect(await statusOf(victim)).toBe(401)
    expect((await readiness()).status).toBe(200)

    // It is in the project.
    expect(await refusalOf(addScope())).toEqual(NOT_IN_FORCE)
    const [{ scopes, version } = {}] = await postgres.query<{ scopes: string; version: string }>(
      'select (select count(*) from project_scopes where scope = $1) as scopes, version from instance',
      ['victim'],
      url,
    )
    expect(scopes).toBe('1')
    expect(await readiness()).toEqual({
      status: 503,
      body: {
        status: 'not ready',
        reason: expect.stringMatching(`^version ${version} of the instance is known and cannot be taken over`),
      },
    })
    expect(await refusalOf(admin.users.listServiceUsers({}))).toMatchObject({
      code: 'Unavailable',
      reason: 'STORAGE_UNAVAILABLE',
    })
    expect(await unreadable()).toEqual([`keyturn_replica_unreadable{kind="service_user",id="${other.userId}"} 1`])
    expect(server.output().stderr).toContain(`service user ${other.userId} in the database is not valid`)

    // Without attempts of the disabled user until then: so many would be refused as too many.
    await eventually(async () => {
      const keySet = await fetch(`${server.listenUrl}/.well-known/openid-configuration/jwks`)
      expect(keySet.status).toBe(503)
    })
    for (const user of [victim, other, owner]) expect(await statusOf(user)).toBe(503)

    await mend()
    await eventually(async () => expect((await readiness()).status).toBe(200))
    expect(await statusOf(victim)).toBe(401)
    for (const user of [other, owner]) expect(await statusOf(user)).toBe(200)
    await admin.users.listServiceUsers({})
    expect(await unreadable()).toEqual(['keyturn_replica_unreadable{kind="none",id=""} 0'])
    expect((await admin.projects.listProjectScopes({ projectId })).scopes).toContain('victim')
  })

  it('says so to who takes a secret away, which it goes on to accept for a while', async () => {
    const user = await newUser('loser')
    expect(await statusOf(user)).toBe(200)
    await query(`create function break_row() returns trigger language plpgsql as $$ begin
      insert into credentials (credential_id, user_id, kind, content, creation_date, mac)
        values ('${KEY_ID}', new.user_id, 'user_key', '{}', now(), ''); return null; end $$`)
    await query(`create trigger break_row after update on credentials for each row
      when (old.deactivation_date is distinct from new.deactivation_date) execute function break_row()`)
    const { userId } = user
    const { secrets } = await admin.users.listClientSecrets({ userId })
    const { secretId } = secrets[0]!
    expect(await refusalOf(admin.users.deactivateClientSecret({ userId, secretId }))).toEqual(NOT_IN_FORCE)
    await mend()
    await eventually(async () => expect(await statusOf(user)).toBe(401))
  })
})
