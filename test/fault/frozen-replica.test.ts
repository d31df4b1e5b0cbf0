/**
 * A whole replica that is stopped in the middle of a change, as a frozen machine is. Every other place to freeze at is in
 * `test/api/storage/frozen-client.test.ts`.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationWith } from '../support/administration.ts'
import {
  type Keyturn,
  type KeyturnProcess,
  removeServers,
  requestToken,
  startKeyturn,
  startKeyturnInProcess,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { type StatementProxy, startStatementProxy } from '../support/statement-proxy.ts'

const SERVICE = 'iam.webkey.v2.WebKeyService'

let postgres: TestPostgres
let proxy: StatementProxy
let other: Keyturn
let frozen: KeyturnProcess
let token: string

beforeAll(async () => {
  postgres = sharedPostgres()
  const url = new URL(await postgres.createMigratedDatabase())
  proxy = await startStatementProxy(Number(url.port))
  const shared = { KEYTURN_MASTER_KEYS: generateMasterKey(), KEYTURN_BASE_URL: 'https://id.example.com' }
  other = await startKeyturnInProcess({ env: { ...shared, KEYTURN_DATABASE_URL: url.href } })
  token = await requestToken({ ...(await other.admin()), token_endpoint: `${other.listenUrl}/oauth/v2/token` })
  url.port = String(proxy.port)
  frozen = await startKeyturn({ env: { ...shared, KEYTURN_DATABASE_URL: url.href } })
})
afterAll(async () => {
  frozen?.process.kill('SIGCONT')
  await removeServers(frozen, other)
  await proxy?.close()
  await postgres?.stop()
})

const keyIds = async (administration: Administration): Promise<string[]> => {
  const { body } = await administration.post(`${SERVICE}/ListWebKeys`)
  return (body.webKeys as { keyId: string }[]).map(({ keyId }) => keyId)
}

it('lets another revoke a key meanwhile, and does not know when it goes on what became of its own change (issue 11)', async () => {
  const [own, others] = [administrationWith(frozen, token), administrationWith(other, token)]
  const { body } = await others.post(`${SERVICE}/CreateWebKey`, { config: { ed25519: {} } })
  const { keyId: leaked } = body.webKey as { keyId: string }
  const before = await keyIds(others)

  // The change is done, but for its commit.
  const reached = proxy.freezeAt('pg_notify', 'before')
  const creation = own.post(`${SERVICE}/CreateWebKey`, { config: { ed25519: {} } })
  await reached
  frozen.process.kill('SIGSTOP')
  proxy.thaw()

  expect(await others.post(`${SERVICE}/RevokeWebKey`, { keyId: leaked })).toMatchObject({ status: 200 })
  frozen.process.kill('SIGCONT')
  const { status, headers, body: refusal } = await creation
  expect({ status, retryAfter: headers.get('retry-after'), code: refusal.code }).toEqual({
    // It sees that its connection is gone, and not that the server had undone the change before.
    status: 500,
    retryAfter: null,
    code: 'unknown',
  })
  expect(await keyIds(others)).toEqual(before.filter((keyId) => keyId !== leaked))
})
