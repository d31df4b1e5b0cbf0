/**
 * The commands for configured master keys. Those that Keyturn made are in `embedded-database.test.ts`.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { removeFolder, requestToken, runKeyturnInProcess, startKeyturnInProcess } from '../../support/keyturn.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { openAllSealed } from '../../support/sealed-keys.ts'
import { webKeyClient } from '../../support/web-key-client.ts'

const older = generateMasterKey()

/** The database of an instance with three web keys; each test works on a copy. */
let postgres: TestPostgres
let template: string
let url: string
beforeAll(async () => {
  postgres = sharedPostgres()
  template = await postgres.createMigratedDatabase()
  const server = await startKeyturnInProcess({
    env: { KEYTURN_DATABASE_URL: template, KEYTURN_MASTER_KEYS: older },
  })
  const client = webKeyClient(server.baseUrl, await requestToken(await server.admin()))
  for (let count = 0; count < 2; count += 1)
    await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
  await server.stop()
  await removeFolder(server.dataDir)
})
beforeEach(async () => {
  url = await postgres.createDatabase(new URL(template).pathname.slice(1))
})
afterAll(() => postgres?.stop())

const idOf = (masterKey: string) => masterKey.split(':')[0]!
const masterKey = (command: 'rotate' | 'status', masterKeys: string) =>
  runKeyturnInProcess(['master-key', command], { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: masterKeys })

describe('keyturn master-key rotate with configured keys', () => {
  it('says which one can be removed, and has nothing to do the second time', async () => {
    const newer = generateMasterKey()
    const removal = `The master key ${idOf(older)} seals nothing any more: remove it from every server.\n`
    expect(await masterKey('rotate', `${newer},${older}`)).toEqual({
      code: 0,
      stdout: `4 of 4 keys were sealed anew; all of them are sealed by ${idOf(newer)} now.\n${removal}`,
      stderr: '',
    })
    expect(await masterKey('rotate', `${newer},${older}`)).toEqual({
      code: 0,
      stdout: `All 4 keys were sealed by ${idOf(newer)} already.\n${removal}`,
      stderr: '',
    })
    expect(await openAllSealed(url, newer)).toBe(4)
    await expect(openAllSealed(url, older)).rejects.toThrow('is not configured')
  })
})

describe('keyturn master-key status', () => {
  it('tells which master key seals how many keys, and which none opens', async () => {
    const newer = generateMasterKey()
    const rows = (...lines: string[]) => ['MASTER KEY   CONFIGURED  SEALS', ...lines, ''].join('\n')
    expect(await masterKey('status', `${newer},${older}`)).toEqual({
      code: 0,
      stdout: rows(`${idOf(newer)}  first       0`, `${idOf(older)}  yes         4`),
      stderr: '',
    })
    const { code, stdout } = await masterKey('status', newer)
    expect(code).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    expect(lines.slice(0, 3).join('\n')).toBe(
      rows(`${idOf(newer)}  first       0`, `${idOf(older)}  no          4`).trimEnd(),
    )
    expect(lines[3]).toMatch(/^Cannot be opened: integrity key: .* master key "mk-\w+" sealed it and is not configured/)
    expect(lines.slice(4)).toEqual(
      Array.from({ length: 3 }, () =>
        expect.stringMatching(
          /^Cannot be opened: web key \S{43}: .* master key "mk-\w+" sealed it and is not configured/,
        ),
      ),
    )
  })
})
