/**
 * A database that is there and refuses, because an operator or a restore has changed it while a server serves.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { type AdminCredentials, type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { WITHOUT_DEBIAN_POSTGRES } from '../support/postgres-programs.ts'
import { describeUnless } from '../support/unless.ts'
import { requestToken } from '../support/web-key-client.ts'

const TOOLS = '/usr/lib/postgresql/15/bin'
const run = promisify(execFile)

for (const { version, obstacle } of [
  { version: 'npm', obstacle: undefined },
  { version: 'debian', obstacle: WITHOUT_DEBIAN_POSTGRES },
] as const) {
  describeUnless(obstacle)(`a server whose database refuses, on PostgreSQL from ${version}`, () => {
    let postgres: TestPostgres
    let url: string
    let server: Keyturn
    let admin: AdminCredentials
    let token: string

    beforeAll(async () => {
      postgres = await startPostgres({ version })
      await postgres.query(`create role operator login password 'operator'`)
      url = await postgres.createDatabase()
      await change('grant all on schema public to operator')
      server = await startKeyturnInProcess({
        env: {
          KEYTURN_DATABASE_URL: url.replace(/\/\/[^@]+@/, '//operator:operator@'),
          KEYTURN_MASTER_KEYS: generateMasterKey(),
        },
      })
      admin = await server.admin()
      token = await requestToken(admin)
    })
    afterAll(async () => {
      await server?.stop()
      await postgres?.stop()
      if (server !== undefined) await removeFolder(server.dataDir)
    })

    const change = (sql: string) => postgres.query(sql, [], url)

    async function call(method: string): Promise<object> {
      const response = await fetch(`${server.listenUrl}/iam.webkey.v2.WebKeyService/${method}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: method === 'CreateWebKey' ? '{"config":{"ed25519":{}}}' : '{}',
      })
      const { code, message } = (await response.json()) as { code?: string; message?: string }
      return { status: response.status, retryAfter: response.headers.get('retry-after'), code, message }
    }

    async function ask(changes: Partial<AdminCredentials> = {}): Promise<object> {
      const { client_id, client_secret } = { ...admin, ...changes }
      const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
      const response = await fetch(`${server.listenUrl}/oauth/v2/token`, { method: 'POST', body })
      const { error } = (await response.json()) as { error?: string }
      return { status: response.status, retryAfter: response.headers.get('retry-after'), error }
    }
    const askAsStranger = () => ask({ client_id: `${crypto.randomUUID()}@keyturn` })

    async function readiness(): Promise<object> {
      const response = await fetch(`${server.listenUrl}/readyz`)
      return { status: response.status, body: await response.json() }
    }

    const refused = (meaning: string) => ({
      status: 503,
      retryAfter: '5',
      code: 'unavailable',
      message: `the database refuses: ${meaning}`,
    })
    const works = { status: 200, retryAfter: null }

    async function expectRefusal(meaning: string): Promise<void> {
      await eventually(async () => {
        const warning = `the database refuses: ${meaning}: tokens go on from memory for `
        expect(await readiness()).toEqual({
          status: 200,
          body: { status: 'ready', warnings: [expect.stringContaining(warning)] },
        })
      })
      expect(await call('ListWebKeys')).toEqual(refused(meaning))
      expect(await call('CreateWebKey')).toEqual(refused(meaning))
      expect(await ask()).toEqual(works)
      expect(await askAsStranger()).toEqual({ status: 503, retryAfter: '5', error: 'temporarily_unavailable' })
    }

    async function expectRecovery(): Promise<void> {
      await eventually(async () => expect(await readiness()).toEqual({ status: 200, body: { status: 'ready' } }))
      expect(await call('ListWebKeys')).toMatchObject({ status: 200 })
      expect(await call('CreateWebKey')).toMatchObject({ status: 200 })
      expect(await ask()).toEqual(works)
      expect(await askAsStranger()).toMatchObject({ status: 401 })
    }

    it.each([
      [
        'this role lacks a right (SQLSTATE 42501)',
        'revoke all on all tables in schema public from operator',
        'grant all on all tables in schema public to operator',
      ],
      [
        'a table is missing (SQLSTATE 42P01)',
        'alter table instance rename to elsewhere',
        'alter table elsewhere rename to instance',
      ],
    ])('says so to all who need it, serves from memory, and recovers: %s', async (meaning, breakIt, mendIt) => {
      await change(breakIt)
      await expectRefusal(meaning)
      await change(mendIt)
      await expectRecovery()
    })

    if (version !== 'debian') return

    it('goes on when its tables are dropped and restored from a backup', async () => {
      const dump = join(server.dataDir, 'keyturn.dump')
      await run(join(TOOLS, 'pg_dump'), ['--format=custom', `--file=${dump}`, `--dbname=${url}`])
      await change('drop schema public cascade')
      await expectRefusal('a table is missing (SQLSTATE 42P01)')
      await change('create schema public; grant all on schema public to operator')
      await run(join(TOOLS, 'pg_restore'), ['--single-transaction', `--dbname=${url}`, dump])
      await expectRecovery()
    })
  })
}
