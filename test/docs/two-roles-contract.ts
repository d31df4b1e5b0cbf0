/**
 * The two roles of docs/operations.md, made as it says there: the owner migrates, and everything that a server does works with
 * the other one, which may create nothing.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { SignJWT } from 'jose'
import pg from 'pg'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Keyturn,
  removeFolder,
  runKeyturn,
  runKeyturnInProcess,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { type PostgresVersion, startPostgres, type TestPostgres } from '../support/postgres.ts'
import { describeUnless } from '../support/unless.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
const [, SECTION = ''] = /^## Two roles in the database\n(.*?)^## /ms.exec(PAGE) ?? []
const blocks = (language: string) =>
  [...SECTION.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code)

const [CREATE = '', GRANT = ''] = blocks('sql')
const [MIGRATE = ''] = blocks('sh')

/** Describes them on a version of PostgreSQL. */
export function describeTwoRoles({
  version,
  obstacle,
}: Required<PostgresVersion> & { obstacle?: string | undefined }): void {
  describeUnless(obstacle)(`the two roles in the database, on PostgreSQL from ${version}`, () => {
    let postgres: TestPostgres
    let folder: string
    let url: URL
    let server: Keyturn
    let admin: Administration
    const called = new Set<string>()
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
      postgres = await startPostgres({ version })
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

    async function call<T>(method: string, request: object = {}): Promise<T> {
      const { status, body } = await admin.post(method, request)
      expect({ method, status, body }).toEqual({ method, status: 200, body: expect.anything() })
      called.add(method)
      return body as T
    }
    const token = async (form: Record<string, string>): Promise<number> =>
      (
        await fetch(`${server.listenUrl}/oauth/v2/token`, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
        })
      ).status

    it('let a server do everything that the API can ask of it', async () => {
      const projects = (method: string, request?: object) =>
        call<{ project: { projectId: string } }>(`iam.project.v2.ProjectService/${method}`, request)
      const { projectId } = (await projects('CreateProject', { name: 'shop' })).project
      await projects('UpdateProject', { projectId, name: 'store', updateMask: 'name' })
      for (const method of ['GetProject', 'ListProjectRoles', 'ListProjectScopes', 'ListProjectAudiences'])
        await projects(method, { projectId })
      await projects('ListProjects')
      await projects('AddProjectRole', { projectId, role: 'reader' })
      await projects('AddProjectScope', { projectId, scope: 'stock' })
      await projects('AddProjectAudience', { projectId, audience: 'https://stock.example' })

      type User = { readonly serviceUser: { readonly userId: string } }
      const users = <T = User>(method: string, request: object) =>
        call<T>(`iam.user.v2.ServiceUserService/${method}`, request)
      const { userId } = (
        await users('CreateServiceUser', { projectId, name: 'robot', clientCredentialsEnabled: true })
      ).serviceUser
      const clientId = `${userId}@store`
      await users('UpdateServiceUser', { userId, name: 'machine', updateMask: 'name' })
      const instanceRoles = ['INSTANCE_ROLE_IAM_OWNER_VIEWER', 'INSTANCE_ROLE_IAM_AUDITOR']
      await users('SetInstanceRoles', { userId, instanceRoles })
      await projects('SetProjectMember', { projectId, userId, role: 'PROJECT_MEMBER_ROLE_PROJECT_OWNER' })
      await projects('ListProjectMembers', { projectId })
      await projects('RemoveProjectMember', { projectId, userId })
      await users('GrantProjectRole', { userId, projectId, role: 'reader' })
      await users('GrantScope', { userId, scope: 'stock' })
      await projects('SetProjectMember', { projectId, userId, role: 'PROJECT_MEMBER_ROLE_PROJECT_OWNER' })
      await projects('ListProjectMembers', { projectId })
      await projects('RemoveProjectMember', { projectId, userId })
      const generated = await users<{ secret: { secretId: string }; clientSecret: string }>('GenerateClientSecret', {
        userId,
      })
      expect(await token({ client_id: clientId, client_secret: generated.clientSecret, scope: 'stock' })).toBe(200)

      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const publicJwk = JSON.stringify(publicKey.export({ format: 'jwk' }))
      const { keys } = await users<{ keys: { keyId: string }[] }>('AddUserKey', { userId, publicJwk })
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
      expect(await token(form)).toBe(200)
      expect(await token(form)).toBe(401)

      const expirationDate = new Date(Date.now() + 60_000).toISOString()
      const pat = await users<{ personalAccessToken: { tokenId: string }; token: string }>(
        'CreatePersonalAccessToken',
        {
          userId,
          expirationDate,
        },
      )
      const own = await fetch(`${server.listenUrl}/iam.webkey.v2.WebKeyService/ListWebKeys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${pat.token}`, 'content-type': 'application/json' },
        body: '{}',
      })
      expect(own.status).toBe(200)

      const issuers = <T>(method: string, request: object = {}) =>
        call<T>(`iam.federation.v2.TrustedIssuerService/${method}`, request)
      const identities = <T>(method: string, request: object) =>
        call<T>(`iam.federation.v2.FederatedIdentityService/${method}`, request)
      const issuerKeys = { jwks: `{"keys":[${publicJwk}]}` }
      const { trustedIssuer } = await issuers<{ trustedIssuer: { issuerId: string } }>('CreateTrustedIssuer', {
        issuer: 'https://cluster.example',
        keys: issuerKeys,
      })
      const { issuerId } = trustedIssuer
      await issuers('UpdateTrustedIssuer', { issuerId, maxLifetimeSeconds: 600, updateMask: 'maxLifetimeSeconds' })
      await issuers('GetTrustedIssuer', { issuerId })
      await issuers('UpdateTrustedIssuer', {
        issuerId,
        keys: { jwksUrl: 'https://127.0.0.1:1/jwks' },
        updateMask: 'keys',
      })
      const { trustedIssuer: refreshed } = await issuers<{ trustedIssuer: { fetchedKeys: { failure: string } } }>(
        'RefreshTrustedIssuerKeys',
        { issuerId },
      )
      expect(refreshed.fetchedKeys.failure).toContain('KEYTURN_ISSUER_NETWORKS')
      await issuers('ListTrustedIssuers')
      const { identity } = await identities<{ identity: { identityId: string } }>('AddFederatedIdentity', {
        userId,
        issuerId,
        subject: 'robot',
      })
      await identities('ListFederatedIdentities', { userId })
      await identities('RemoveFederatedIdentity', { userId, identityId: identity.identityId })
      await issuers('DeleteTrustedIssuer', { issuerId })

      const webhooks = <T>(method: string, request: object = {}) =>
        call<T>(`iam.event.v2.WebhookService/${method}`, request)
      const receiver = { name: 'siem', url: 'https://127.0.0.1:1/events' }
      const { webhook } = await webhooks<{ webhook: { webhookId: string } }>('CreateWebhook', receiver)
      const { webhookId } = webhook
      await webhooks('UpdateWebhook', { webhookId, name: 'watch', updateMask: 'name' })
      await eventually(async () => {
        const { webhook } = await webhooks<{ webhook: { delivery: { lastFailure?: string } } }>('GetWebhook', {
          webhookId,
        })
        expect(webhook.delivery.lastFailure).toContain('KEYTURN_OUTBOUND_NETWORKS')
      })
      await webhooks('ListWebhooks')
      await webhooks('RotateWebhookSecret', { webhookId })
      await webhooks('TestWebhook', { webhookId })
      await webhooks('DeleteWebhook', { webhookId })

      const certificates = <T>(method: string, request: object) =>
        call<T>(`iam.user.v2.ClientCertificateService/${method}`, request)
      const { certificate } = await certificates<{ certificate: { certificateId: string } }>('AddClientCertificate', {
        userId,
        match: { sanDns: 'stock.example' },
      })
      await certificates('ListClientCertificates', { userId })
      await certificates('RemoveClientCertificate', { userId, certificateId: certificate.certificateId })

      for (const method of ['GetServiceUser', 'ListClientSecrets', 'ListUserKeys', 'ListPersonalAccessTokens']) {
        await users(method, { userId })
      }
      await users('ListServiceUsers', {})
      await users('IntrospectToken', { token: 'unknown' })
      await users('RevokeTokens', { userId })
      await users('DisableServiceUser', { userId })
      await users('EnableServiceUser', { userId })
      await users('RevokeProjectRole', { userId, projectId, role: 'reader' })
      await users('RevokeScope', { userId, scope: 'stock' })
      await users('DeactivateClientSecret', { userId, secretId: generated.secret.secretId })
      await users('DeleteClientSecret', { userId, secretId: generated.secret.secretId })
      await users('RemoveUserKey', { userId, keyId: keys[0]!.keyId })
      await users('RevokePersonalAccessToken', { userId, tokenId: pat.personalAccessToken.tokenId })
      await users('DeleteServiceUser', { userId })
      await projects('RemoveProjectRole', { projectId, role: 'reader' })
      await projects('RemoveProjectScope', { projectId, scope: 'stock' })
      await projects('RemoveProjectAudience', { projectId, audience: 'https://stock.example' })
      await projects('DeleteProject', { projectId })
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
        'select last_use_date from client_secrets where last_use_date is not null',
        [],
        urlAs('owner'),
      )
      expect(uses.length).toBeGreaterThan(0)
      expect(server.output().stderr).not.toMatch(/permission denied|42501/)
      await postgres.query('create table later (id int)', [], urlAs('owner'))
      await postgres.query('insert into later values (1)', [], urlAs('runtime'))
    })
  })
}
