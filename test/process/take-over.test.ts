/**
 * An instance of the version before there were integrity keys, upgraded by whichever command comes first.
 */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { openDatabase } from '../../src/storage/postgres/database.ts'
import { openEmbeddedDatabase } from '../support/embedded-database.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Keyturn,
  removeFolder,
  runKeyturnInProcess,
  spawnKeyturn,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { createRecordingLog } from '../support/log.ts'
import { sharedPostgres } from '../support/new-database.ts'
import { fillOlder, migrateToOlder, type OlderInstance } from '../support/older-instance.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { requestToken } from '../support/web-key-client.ts'

const masterKey = generateMasterKey()

let postgres: TestPostgres
beforeAll(async () => {
  postgres = sharedPostgres()
})
afterAll(() => postgres?.stop())

/** What its clients do: get a token with the secret, and call the API with that and with the personal access token. */
async function use({ listenUrl, baseUrl }: Keyturn, older: OlderInstance): Promise<number[]> {
  const { clientId: client_id, clientSecret: client_secret } = older
  const token_endpoint = `${listenUrl}/oauth/v2/token`
  const token = await requestToken({ base_url: baseUrl, token_endpoint, client_id, client_secret })
  const calls = [token, older.personalAccessToken].map((bearer) =>
    fetch(`${listenUrl}/iam.webkey.v2.WebKeyService/ListWebKeys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: '{}',
    }),
  )
  return (await Promise.all(calls)).map(({ status }) => status)
}

describe('an instance of the version before', () => {
  it('is taken over by servers that start at the same time, and goes on', async () => {
    const { url, older } = await olderOnPostgres()
    const env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: masterKey, KEYTURN_BASE_URL: 'http://localhost:1' }
    const servers = await Promise.all([startKeyturnInProcess({ env }), startKeyturnInProcess({ env })])
    try {
      for (const server of servers) expect(await use(server, older)).toEqual([200, 200])
      const said = servers.flatMap((server) =>
        server
          .output()
          .stderr.split('\n')
          .filter((line) => line.includes('was given an integrity key')),
      )
      expect(said.map((line) => JSON.parse(line))).toMatchObject([
        { level: 'warn', webKeys: 1, userKeys: 1, clientSecrets: 1, personalAccessTokens: 1, revoked: [] },
      ])
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
      await Promise.all(servers.map(({ dataDir }) => removeFolder(dataDir)))
    }
  })

  it('is as it was after a process that was killed while it took it over, and the next one does it', async () => {
    const { url, older } = await olderOnPostgres()
    const env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: masterKey }
    const holder = await openDatabase({ url, log: createRecordingLog() })
    const killed = spawnKeyturn(['migrate'], env)
    const exited = once(killed, 'exit')
    try {
      await holder.db.transaction().execute(async (trx) => {
        // The process may take longer to come here than a transaction of Keyturn may wait.
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
        // Keys are done then, secrets are not.
        await trx.selectFrom('personal_access_tokens').select('token_id').forUpdate().execute()
        await eventually(async () => {
          const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
          expect(await postgres.query(waiting, [], url)).toHaveLength(1)
        })
        killed.kill('SIGKILL')
        await exited
      })
    } finally {
      await holder.close()
    }
    const columns = `select 1 from information_schema.columns where column_name in ('mac', 'sealed_integrity_key')`
    // The server notices at its next statement that nobody is there.
    await eventually(async () => expect(await postgres.query(columns, [], url)).toEqual([]))

    const applied = { code: 0, stdout: expect.stringMatching(/^Applied: 0005-integrity\b/) }
    expect(await runKeyturnInProcess(['migrate'], { ...env, KEYTURN_LOG_LEVEL: 'error' })).toMatchObject(applied)
    const server = await startKeyturnInProcess({ env })
    try {
      expect(await use(server, older)).toEqual([200, 200])
    } finally {
      await server.stop()
      await removeFolder(server.dataDir)
    }
  })

  it('is taken over by a change of the issuer', async () => {
    const { url } = await olderOnPostgres()
    const env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: masterKey, KEYTURN_LOG_LEVEL: 'error' }
    expect(await runKeyturnInProcess(['issuer', 'change', 'https://id.example.com'], env)).toMatchObject({
      code: 0,
      stderr: '',
    })
    expect(await runKeyturnInProcess(['issuer', 'show'], env)).toMatchObject({
      code: 0,
      stdout: 'https://id.example.com\n',
    })
  })

  it('is taken over in an embedded database, with the master key that Keyturn made', async () => {
    const dataDir = await temporaryFolder()
    const database = await openEmbeddedDatabase(dataDir)
    await migrateToOlder(database)
    const older = await fillOlder(database, masterKey)
    await database.close()
    await writeFile(join(dataDir, 'master.key'), `${masterKey}\n`, { mode: 0o600 })
    const server = await startKeyturnInProcess({ dataDir })
    try {
      expect(await use(server, older)).toEqual([200, 200])
    } finally {
      await server.stop()
      await removeFolder(dataDir)
    }
  })
})

async function olderOnPostgres(): Promise<{ url: string; older: OlderInstance }> {
  const url = await postgres.createDatabase()
  const database = await openDatabase({ url, log: createRecordingLog() })
  await migrateToOlder(database)
  const older = await fillOlder(database, masterKey)
  await database.close()
  return { url, older }
}
