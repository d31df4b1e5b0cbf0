import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { freePort } from '../../support/free-port.ts'
import { removeFolder, runKeyturnInProcess, temporaryFolder } from '../../support/keyturn.ts'
import { sharedPostgres, TEST_PASSWORD } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'

let postgres: TestPostgres
let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
  postgres = sharedPostgres()
})
afterAll(async () => {
  await postgres?.stop()
  await removeFolder(folder)
})

const APPLIED = { code: 0, stdout: 'Applied: 0001-initial-schema.\n', stderr: '' }
const NOTHING_TO_DO = { code: 0, stdout: 'The schema is up to date.\n', stderr: '' }

describe('keyturn migrate', () => {
  it('makes the schema of an embedded database once, and nothing else', async () => {
    const dataDir = join(folder, 'embedded')
    const migrate = () => runKeyturnInProcess(['migrate', '--data-dir', dataDir])
    expect(await migrate()).toEqual(APPLIED)
    expect(await migrate()).toEqual(NOTHING_TO_DO)
    expect((await readdir(dataDir)).sort()).toEqual(['lock', 'postgres'])
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
  })

  it('makes the schema of a PostgreSQL database once, and touches no data directory', async () => {
    const dataDir = join(folder, 'postgres')
    const url = await postgres.createDatabase()
    const env = { DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey(), KEYTURN_DATA_DIR: dataDir }
    const migrate = () => runKeyturnInProcess(['migrate'], env)
    expect(await migrate()).toEqual(APPLIED)
    expect(await migrate()).toEqual(NOTHING_TO_DO)
    expect(await postgres.query('select version::int, initialised_at from instance', [], url)).toEqual([
      { version: 0, initialised_at: null },
    ])
    expect(await readdir(folder)).not.toContain('postgres')
  })

  it.each([
    [
      'is not there',
      async () => `postgres://postgres:${TEST_PASSWORD}@127.0.0.1:${await freePort()}/x`,
      'ECONNREFUSED',
    ],
    [
      'does not know the user',
      async () => (await postgres.createDatabase()).replace(TEST_PASSWORD, 'pa55word'),
      'password authentication failed for user "postgres"',
    ],
    [
      'does not exist',
      async () => (await postgres.createDatabase()).replace(/[^/]+$/, 'keyturn_other'),
      'database "keyturn_other" does not exist',
    ],
  ])('says why when the database %s, without the password', async (_, urlOf, reason) => {
    const env = { KEYTURN_DATABASE_URL: await urlOf(), KEYTURN_MASTER_KEYS: generateMasterKey() }
    const { code, stdout, stderr } = await runKeyturnInProcess(['migrate'], env)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^keyturn: the database (is not available|refuses: .+ \(SQLSTATE \w+\)): .+: check KEYTURN_DATABASE_URL and the database\n$/,
    )
    expect(stderr).toContain(reason)
    for (const password of [TEST_PASSWORD, 'pa55word']) expect(stderr).not.toContain(password)
  })
})
