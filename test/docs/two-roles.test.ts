/**
 * The two roles of docs/operations.md, made as it says there: the owner migrates, and everything that a server does works with
 * the other one, which may create nothing.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SignJWT } from 'jose'
import pg from 'pg'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { everyRequest } from '../api/every-request.ts'
import { type Administration, administrationOf, METHODS } from '../support/administration.ts'
import {
  type Keyturn,
  removeFolder,
  runKeyturn,
  runKeyturnInProcess,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
const [, SECTION = ''] = /^## Two roles in the database\n(.*?)^## /ms.exec(PAGE) ?? []
const blocks = (language: string) =>
  [...SECTION.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code)

const [CREATE = '', GRANT = ''] = blocks('sql')
const [MIGRATE = ''] = blocks('sh')

describe('the two roles in the database', () => {
  let postgres: TestPostgres
  let folder: string
  let url: URL
  let server: Keyturn
  let admin: Administration
  const masterKeys = generateMasterKey()

  const urlAs = (role: 'owner' | 'runtime') => {
    const own = new URL(url)
    own.username = `keyturn_${role}`
    own.password = `${role.toUpperCase()}_PASSWORD`
    return own.href
  }
  const envAs = (role: 'owner' | 'runtime') => ({
    KEYTURN_DATABASE_URL: urlAs(role),
    KEYTURN_MASTER_KEYS: masterKeys,
    KEYTURN_DATA_DIR: folder,
  })
  const runAs = (role: 'owner' | 'runtime', ...args: string[]) => runKeyturnInProcess(args, envAs(role))

  beforeAll(async () => {
    postgres = await startPostgres()
    folder = await temporaryFolder()
    url = new URL(await postgres.createDatabase())
    url.pathname = '/keyturn'
    for (const statement of CREATE.split(';\n').filter((text) => text !== '')) await postgres.query(statement)
  })
  afterAll(async () => {
    await server?.stop()
    await postgres?.stop()
    if (folder !== undefined) await removeFolder(folder)
  })

  it('are not enough for a server before the owner has migrated, and it says so', async () => {
    const { code, stderr } = await runAs('runtime', 'serve', '--listen', '127.0.0.1:0')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(
        'the schema of the database is older than this version of Keyturn, and this role may not change it: ' +
          'run "keyturn migrate" with a role that may',
      ),
    })
  })

  it('are made by the commands of the page', async () => {
    const [, documentedUrl = '', command = ''] = /^KEYTURN_DATABASE_URL=(\S+) npx keyturn (\S+)$/m.exec(MIGRATE) ?? []
    const documented = new URL(documentedUrl)
    documented.host = url.host
    expect(documented.href).toBe(urlAs('owner').replace('postgresql:', 'postgres:'))
    // As a process, because only that has all that it logs.
    expect(await runKeyturn([command], envAs('owner'))).toMatchObject({ code: 0, stderr: '' })
    await postgres.query(GRANT, [], urlAs('owner'))
    await postgres.query(
      `insert into audit_events values ($1, now() - interval '2 years', 'x', 'x', '', 'ok', '')`,
      [randomUUID()],
      urlAs('owner'),
    )
    server = await startKeyturnInProcess({ dataDir: folder, env: envAs('runtime') })
    admin = await administrationOf(server)
  })

  const token = async (form: Record<string, string>): Promise<number> =>
    (
      await fetch(`${server.listenUrl}/oauth/v2/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
      })
    ).status

  it('let a server do everything that the API can ask of it', async () => {
    await admin.keys.updateRotationPolicy({ policy: { enabled: false }, updateMask: { paths: ['enabled'] } })
    const requests = await everyRequest(admin)
    for (const { path } of METHODS) {
      const { status, body } = await admin.post(path, requests[path])
      expect({ path, status, body }).toEqual({ path, status: 200, body: expect.anything() })
    }
  })

  it('let a server issue tokens for a secret, and for an assertion once', async () => {
    const { project } = await admin.projects.createProject({ name: 'stock' })
    const user = { projectId: project!.projectId, name: 'robot', clientCredentialsEnabled: true }
    const { userId } = (await admin.users.createServiceUser(user)).serviceUser!
    const clientId = `${userId}@stock`
    const { clientSecret } = await admin.users.generateClientSecret({ userId })
    expect(await token({ client_id: clientId, client_secret: clientSecret })).toBe(200)

    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await admin.users.addUserKey({ userId, publicJwk: JSON.stringify(publicKey.export({ format: 'jwk' })) })
    const assertion = await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(server.baseUrl)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey)
    const form = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    }
    expect([await token(form), await token(form)]).toEqual([200, 401])
  })

  it('let the commands for operators work, but nothing change the schema, its record or the trail', async () => {
    const next = 'https://tokens.example.com'
    for (const command of [
      ['migrate'],
      ['master-key', 'rotate'],
      ['recover', '--base-url', next],
      ['issuer', 'show'],
    ]) {
      expect([command, await runAs('runtime', ...command)]).toEqual([command, expect.objectContaining({ code: 0 })])
    }
    expect(await runAs('runtime', 'issuer', 'change', next)).toMatchObject({ code: 0 })
    const client = new pg.Client({ connectionString: urlAs('runtime') })
    await client.connect()
    try {
      for (const statement of [
        'create table mine ()',
        'create temporary table mine ()',
        'create schema mine',
        'alter table web_keys add column mine text',
        'drop table web_keys',
        'truncate web_keys',
        `create function mine() returns int language sql as 'select 1'`,
        `insert into migrations values ('x')`,
        'delete from migrations',
        `update migrations set name = 'x'`,
        `update audit_events set actor = 'x'`,
        'delete from instance',
        'delete from rotation',
      ]) {
        await expect(client.query(statement)).rejects.toMatchObject({ code: '42501' })
      }
    } finally {
      await client.end()
    }
  })

  it('were enough for all of that, and are for the tables of a later migration', async () => {
    expect(server.output().stderr).not.toMatch(/permission denied|42501/)
    await server.stop()
    const uses = await postgres.query(
      'select last_use_date from credentials where last_use_date is not null',
      [],
      urlAs('owner'),
    )
    expect(uses.length).toBeGreaterThan(0)
    expect(server.output().stderr).not.toMatch(/permission denied|42501/)
    await postgres.query('create table later (id int)', [], urlAs('owner'))
    await postgres.query('insert into later values (1)', [], urlAs('runtime'))
  })
})
