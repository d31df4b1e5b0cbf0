/**
 * Commands that open the database and wait for the command for the master keys.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { removeFolder, runKeyturnInProcess, startKeyturnInProcess, temporaryFolder } from '../../support/keyturn.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'

let postgres: TestPostgres
let folder: string
let current: string
beforeAll(async () => {
  postgres = sharedPostgres()
  folder = await temporaryFolder()
  current = await postgres.createMigratedDatabase()
  const env = { KEYTURN_DATABASE_URL: current, KEYTURN_MASTER_KEYS: generateMasterKey() }
  const server = await startKeyturnInProcess({ dataDir: folder, env })
  await server.stop()
})
afterAll(async () => {
  await postgres?.stop()
  await removeFolder(folder)
})

it.each([[['master-key', 'rotate']], [['master-key', 'status']], [['recover', '--base-url', 'http://localhost:1']]])(
  '%j that is interrupted ends the command for the master keys',
  async (args) => {
    const pidFile = join(folder, `pid-${args.slice(0, 2).join()}`)
    const interruption = new AbortController()
    const ending = runKeyturnInProcess(
      args,
      {
        KEYTURN_DATABASE_URL: current,
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
  },
)
