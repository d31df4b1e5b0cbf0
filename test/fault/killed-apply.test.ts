/**
 * Configurations whose application is cut off in the middle: everything is stored or nothing, and applying them again leads to the same end.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf, administrationWith } from '../support/administration.ts'
import { manyUsers } from '../support/configurations.ts'
import { eventually } from '../support/eventually.ts'
import { type KeyturnProcess, startKeyturn } from '../support/keyturn.ts'
import { newPostgresDatabase } from '../support/new-database.ts'

const configuration = manyUsers(50)

let env: Record<string, string>
let database: pg.Client
let server: KeyturnProcess
let admin: Administration

beforeAll(async () => {
  const url = await newPostgresDatabase()
  env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey() }
  database = new pg.Client({ connectionString: url })
  await database.connect()
  server = await startKeyturn({ env })
  admin = await administrationOf(server)
})
afterEach(async () => {
  await database.query('rollback')
})
afterAll(async () => {
  await database?.end()
  await server?.kill()
})

const users = async (): Promise<number> => {
  const { rows } = await database.query(`select count(*)::int as users from service_users where name like 'robot-%'`)
  return rows[0].users
}

/** Lets a change come as far as the public keys: its users are written then. */
async function holdKeys(): Promise<void> {
  await database.query('begin; lock table credentials in exclusive mode')
}

async function untilHeld(): Promise<void> {
  await eventually(async () => {
    const { rows } = await database.query(
      `select 1 from pg_locks where not granted and relation = 'credentials'::regclass`,
    )
    expect(rows).not.toEqual([])
  })
}

describe('applying a configuration', () => {
  it('stores nothing if the server is killed in the middle, and everything the next time', async () => {
    await holdKeys()
    const applying = admin.configurations.applyConfiguration({ configuration })
    await Promise.all([expect(applying).rejects.toThrow(), untilHeld().then(() => server.kill())])
    await database.query('rollback')
    expect(await users()).toBe(0)

    server = await startKeyturn({ env, dataDir: server.dataDir })
    admin = administrationWith(server, admin.token)
    const { plan } = await admin.configurations.applyConfiguration({ configuration })
    expect(plan!.changes).toHaveLength(52)
    expect(await users()).toBe(50)
  })
})
