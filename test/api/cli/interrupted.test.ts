/**
 * Commands that open the database and wait for the command for the master keys.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { openDatabase } from '../../../src/storage/postgres/database.ts'
import { eventually } from '../../support/eventually.ts'
import { removeFolder, runKeyturnInProcess, startKeyturnInProcess, temporaryFolder } from '../../support/keyturn.ts'
import { createRecordingLog } from '../../support/log.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import { fillOlder, migrateToOlder } from '../../support/older-instance.ts'
import type { TestPostgres } from '../../support/postgres.ts'

let postgres: TestPostgres
let folder: string
/** An instance, and one of a version before there were integrity keys, which `migrate` takes over. */
let current: string
let older: string
beforeAll(async () => {
  postgres = sharedPostgres()
  folder = await temporaryFolder()
  current = await postgres.createMigratedDatabase()
  const env = { KEYTURN_DATABASE_URL: current, KEYTURN_MASTER_KEYS: generateMasterKey() }
  const server = await startKeyturnInProcess({ dataDir: folder, env })
  await server.stop()
  older = await postgres.createDatabase()
  const database = openDatabase({ url: older, log: createRecordingLog() })
  await migrateToOlder(database)
  await fillOlder(database, generateMasterKey())
  await database.close()
})
afterAll(async () => {
  await postgres?.stop()
  await removeFolder(folder)
})

it.each([
  [['migrate']],
  [['issuer', 'change', 'http://localhost:1']],
  [['master-key', 'rotate']],
  [['master-key', 'status']],
  [['recover', '--base-url', 'http://localhost:1']],
])('%j that is interrupted ends the command for the master keys', async (args) => {
  const pidFile = join(folder, `pid-${args.slice(0, 2).join()}`)
  const interruption = new AbortController()
  const ending = runKeyturnInProcess(
    args,
    {
      KEYTURN_DATABASE_URL: ['migrate', 'issuer'].includes(args[0]!) ? older : current,
      KEYTURN_MASTER_KEYS_COMMAND: JSON.stringify(['/bin/sh', '-c', `echo $$ > ${pidFile}; exec sleep 600`]),
    },
    { signal: interruption.signal },
  )
  const pid = await eventually(async () => {
    const text = await readFile(pidFile, 'utf8')
    expect(text).toMatch(/^\d+\n$/)
    return Number(text)
  })
  interruption.abort(new Error('interrupted by a test'))
  expect(await ending).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('interrupted by a test') })
  try {
    await eventually(() => expect(existsSync(`/proc/${pid}`)).toBe(false))
  } finally {
    if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL')
  }
})
