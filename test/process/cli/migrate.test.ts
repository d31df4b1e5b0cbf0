import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { openDatabase } from '../../../src/storage/postgres/database.ts'
import { eventually } from '../../support/eventually.ts'
import { removeFolder, runKeyturn, spawnKeyturn, temporaryFolder } from '../../support/keyturn.ts'
import { createRecordingLog } from '../../support/log.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import { fillOlder, migrateToOlder } from '../../support/older-instance.ts'
import { freePort, TEST_PASSWORD, type TestPostgres } from '../../support/postgres.ts'

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

const MIGRATIONS = [
  '0001-initial-schema',
  '0002-identities',
  '0003-many-replicas',
  '0004-rotation',
  '0005-integrity',
  '0006-publication',
  '0007-issuer',
  '0008-audit-address',
  '0009-expiry',
]

const APPLIED = {
  code: 0,
  stdout: `Applied: ${MIGRATIONS.join(', ')}.\n`,
  stderr: '',
}
const NOTHING_TO_DO = { code: 0, stdout: 'The schema is up to date.\n', stderr: '' }

describe('keyturn migrate', () => {
  it('makes the schema of an embedded database once, and nothing else', async () => {
    const dataDir = join(folder, 'embedded')
    const migrate = () => runKeyturn(['migrate', '--data-dir', dataDir])
    expect(await migrate()).toEqual(APPLIED)
    expect(await migrate()).toEqual(NOTHING_TO_DO)
    expect((await readdir(dataDir)).sort()).toEqual(['database', 'lock'])
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
  })

  it('makes the schema of a PostgreSQL database once, and touches no data directory', async () => {
    const dataDir = join(folder, 'postgres')
    const url = await postgres.createDatabase()
    const env = { DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey(), KEYTURN_DATA_DIR: dataDir }
    const migrate = () => runKeyturn(['migrate'], env)
    expect(await migrate()).toEqual(APPLIED)
    expect(await migrate()).toEqual(NOTHING_TO_DO)
    expect(await postgres.query('select version::int, initialised_at from instance', [], url)).toEqual([
      { version: 0, initialised_at: null },
    ])
    expect(await readdir(folder)).not.toContain('postgres')
  })

  it('can be run by several at once', async () => {
    const url = await postgres.createDatabase()
    const env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey() }
    const both = await Promise.all([runKeyturn(['migrate'], env), runKeyturn(['migrate'], env)])
    expect(both).toContainEqual(APPLIED)
    expect(both).toContainEqual(NOTHING_TO_DO)
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
    const { code, stdout, stderr } = await runKeyturn(['migrate'], env)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^keyturn: the database (is not available|refuses: .+ \(SQLSTATE \w+\)): .+: check KEYTURN_DATABASE_URL and the database\n$/,
    )
    expect(stderr).toContain(reason)
    for (const password of [TEST_PASSWORD, 'pa55word']) expect(stderr).not.toContain(password)
  })

  it('that is interrupted ends the command for the master keys', async () => {
    const url = await postgres.createDatabase()
    const database = await openDatabase({ kind: 'postgres', url, log: createRecordingLog() })
    await migrateToOlder(database)
    await fillOlder(database, generateMasterKey())
    await database.close()
    const pidFile = join(folder, 'pid')
    const child = spawnKeyturn(['migrate'], {
      KEYTURN_DATABASE_URL: url,
      KEYTURN_MASTER_KEYS_COMMAND: JSON.stringify(['/bin/sh', '-c', `echo $$ > ${pidFile}; exec sleep 600`]),
    })
    const exited = once(child, 'exit')
    const pid = await eventually(async () => {
      const text = await readFile(pidFile, 'utf8')
      expect(text).toMatch(/^\d+\n$/)
      return Number(text)
    })
    child.kill('SIGINT')
    await exited
    expect(child.signalCode).toBe('SIGINT')
    try {
      // Signal 0 only looks whether there is such a process.
      await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'))
    } catch (error) {
      process.kill(pid, 'SIGKILL')
      throw error
    }
  })
})
