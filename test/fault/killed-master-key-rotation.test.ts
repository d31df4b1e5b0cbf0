/**
 * `keyturn master-key rotate` with the key that Keyturn made, killed while it works.
 */
import { once } from 'node:events'
import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { startEmbeddedDatabase } from '../support/embedded-database.ts'
import {
  removeFolder,
  runKeyturnInProcess,
  spawnKeyturn,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { openAllSealed } from '../support/sealed-keys.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

/** The data directory of an instance with three web keys. */
let dataDir: string
beforeAll(async () => {
  dataDir = await temporaryFolder()
  const server = await startKeyturnInProcess({ dataDir })
  const client = webKeyClient(server.baseUrl, await requestToken(await server.admin()))
  for (let count = 0; count < 2; count += 1)
    await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
  await server.stop()
})
afterAll(() => removeFolder(dataDir))

const masterKeys = async () => (await readFile(join(dataDir, 'master.key'), 'utf8')).trim()

/** Opens every sealed key, the integrity key with them, with these master keys, and returns how many there are. */
async function openAll(keys: string): Promise<number> {
  const database = await startEmbeddedDatabase(dataDir)
  return await openAllSealed(database.url, keys).finally(() => database.stop())
}

it('loses nothing, whenever it is killed', async () => {
  const folder = watch(dataDir)
  // As soon as the file with both keys has its name, and then at each later change.
  for (let survived = 0; survived < 2; survived += 1) {
    const rotation = spawnKeyturn(['master-key', 'rotate'], { KEYTURN_DATA_DIR: dataDir })
    const ended = once(rotation, 'exit')
    let changes = 0
    folder.on('change', (_, name) => {
      if (name !== 'master.key') return
      changes += 1
      if (changes > survived) rotation.kill('SIGKILL')
    })
    await ended
    folder.removeAllListeners('change')
    expect(await openAll(await masterKeys())).toBe(4)
  }
  folder.close()
  expect(await runKeyturnInProcess(['master-key', 'rotate'], { KEYTURN_DATA_DIR: dataDir })).toMatchObject({ code: 0 })
  const after = await masterKeys()
  expect(parseMasterKeys(after).ids).toHaveLength(1)
  expect(await openAll(after)).toBe(4)
})
