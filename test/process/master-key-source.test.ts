import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { removeFolder, runKeyturn, runKeyturnInProcess, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { requestToken } from '../support/web-key-client.ts'

let postgres: TestPostgres
let folder: string
beforeAll(async () => {
  postgres = sharedPostgres()
  folder = await temporaryFolder()
})
afterAll(async () => {
  await postgres?.stop()
  await removeFolder(folder)
})

it('a server passes its environment to the command for its master keys, and ends with the reason if that fails', async () => {
  const masterKey = generateMasterKey()
  const database = { KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase() }
  const command = join(folder, 'vault.sh')
  await writeFile(command, '#!/bin/sh\necho "$VAULT_KEYS"\n')
  await chmod(command, 0o700)
  const env = { ...database, KEYTURN_MASTER_KEYS_COMMAND: command, VAULT_KEYS: masterKey }
  const server = await startKeyturn({ dataDir: folder, env })
  try {
    await requestToken(await server.admin())
  } finally {
    await server.stop()
  }
  const { stdout } = await runKeyturnInProcess(['master-key', 'status'], {
    ...database,
    KEYTURN_MASTER_KEYS: masterKey,
  })
  expect(stdout).toMatch(/^mk-\w+ +first +2$/m)

  await writeFile(command, '#!/bin/sh\necho "permission denied" >&2; exit 1\n')
  const failed = await runKeyturn(['serve'], {
    ...env,
    KEYTURN_DATA_DIR: folder,
    KEYTURN_LISTEN: '127.0.0.1:0',
    KEYTURN_METRICS_LISTEN: 'off',
  })
  expect({ code: failed.code, stdout: failed.stdout }).toEqual({ code: 1, stdout: '' })
  expect(failed.stderr).toContain('permission denied')
  expect(failed.stderr).toContain(`keyturn: cannot read master keys from the command ${command}`)
})
