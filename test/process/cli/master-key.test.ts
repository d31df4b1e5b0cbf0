import { once } from 'node:events'
import { existsSync, watch } from 'node:fs'
import { copyFile, cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeyResealer } from '../../../src/crypto/resealer.ts'
import { createSealedKeyStore } from '../../../src/storage/keys/sealed-key-store.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { eventually } from '../../support/eventually.ts'
import { removeFolder, runKeyturn, spawnKeyturn, startKeyturn, temporaryFolder } from '../../support/keyturn.ts'
import { createRecordingLog } from '../../support/log.ts'
import { refuses } from '../../support/terminal.ts'
import { requestToken, webKeyClient } from '../../support/web-key-client.ts'

/** The data directory of an instance with three web keys; each test works on a copy. */
let template: string
let dataDir: string
beforeAll(async () => {
  template = await temporaryFolder()
  const server = await startKeyturn({ dataDir: template })
  const client = webKeyClient(server.baseUrl, await requestToken(await server.admin()))
  for (let count = 0; count < 2; count += 1)
    await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
  await server.stop()
})
beforeEach(async () => {
  dataDir = await temporaryFolder()
  await cp(template, dataDir, { recursive: true })
})
afterEach(() => removeFolder(dataDir))
afterAll(() => removeFolder(template))

const masterKeyFile = () => join(dataDir, 'master.key')
const masterKeys = async () => (await readFile(masterKeyFile(), 'utf8')).trim()
const idOf = (masterKey: string) => masterKey.split(':')[0]!
const masterKey = (command: 'rotate' | 'status', env: Record<string, string> = {}) =>
  runKeyturn(['master-key', command], { KEYTURN_DATA_DIR: dataDir, ...env })

/** Opens every sealed key, the integrity key with them, with these master keys, and returns how many there are. */
async function openAll(keys: string): Promise<number> {
  const database = await openDatabase({
    kind: 'embedded',
    folder: join(dataDir, 'database'),
    log: createRecordingLog(),
  })
  try {
    const resealer = createKeyResealer(parseMasterKeys(keys))
    const sealed = await createSealedKeyStore(database).list()
    for (const key of sealed) await resealer.assertOpens(key)
    return sealed.length
  } finally {
    await database.close()
  }
}

describe('keyturn master-key rotate with the key that Keyturn made', () => {
  it('replaces it by a new one, under which the instance goes on', async () => {
    const before = await masterKeys()
    const { code, stdout, stderr } = await masterKey('rotate')
    const after = await masterKeys()
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout:
        `4 of 4 keys were sealed anew; all of them are sealed by ${idOf(after)} now.\n` +
        `${masterKeyFile()} has only that one now.\n`,
      stderr: '',
    })
    expect(parseMasterKeys(after).ids).toHaveLength(1)
    expect(idOf(after)).not.toBe(idOf(before))
    expect((await stat(masterKeyFile())).mode & 0o777).toBe(0o600)
    expect(await openAll(after)).toBe(4)
    await expect(openAll(before)).rejects.toThrow('is not configured')

    const server = await startKeyturn({ dataDir })
    try {
      // The file has the address of the first start.
      await requestToken({ ...(await server.admin()), token_endpoint: `${server.listenUrl}/oauth/v2/token` })
    } finally {
      await server.stop()
    }
  })

  it('goes on with the same new key after it was cut off with both in the file', async () => {
    const newer = generateMasterKey()
    await writeFile(masterKeyFile(), `${newer},${await masterKeys()}\n`)
    await writeFile(`${masterKeyFile()}.1234.new`, 'a draft that was left behind')
    expect(await masterKey('rotate')).toMatchObject({ code: 0, stderr: '' })
    expect(await masterKeys()).toBe(newer)
    expect(await openAll(newer)).toBe(4)
    expect((await readdir(dataDir)).filter((name) => name.startsWith('master.key'))).toEqual(['master.key'])
  })

  it('can be killed at any moment, and loses nothing', async () => {
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
    expect(await masterKey('rotate')).toMatchObject({ code: 0 })
    const after = await masterKeys()
    expect(parseMasterKeys(after).ids).toHaveLength(1)
    expect(await openAll(after)).toBe(4)
  })

  it('changes nothing if some private key cannot be opened', async () => {
    const wrong = generateMasterKey()
    await writeFile(masterKeyFile(), wrong)
    const { code, stdout, stderr } = await masterKey('rotate')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^keyturn: the integrity key of the instance cannot be opened: master key "mk-\w+" sealed it/,
    )
    expect(await masterKeys()).toBe(wrong)
    await copyFile(join(template, 'master.key'), masterKeyFile())
    expect(await openAll(await masterKeys())).toBe(4)
  })

  it('is refused while a server uses the embedded database, like the status', async () => {
    const server = await startKeyturn({ dataDir })
    try {
      const refused = refuses(
        `the data directory ${dataDir} is in use by another process: stop that process or choose another directory`,
      )
      expect(await masterKey('rotate')).toEqual(refused)
      expect(await masterKey('status')).toEqual(refused)
    } finally {
      await server.stop()
    }
  })

  it('is refused where there is no instance, and leaves nothing there', async () => {
    const empty = await temporaryFolder()
    try {
      expect(await masterKey('rotate', { KEYTURN_DATA_DIR: empty })).toEqual(
        refuses(`there is no embedded database in ${empty}: name the data directory of the server with --data-dir`),
      )
      expect(await readdir(empty)).toEqual([])
    } finally {
      await removeFolder(empty)
    }
  })
})

describe('keyturn master-key rotate with configured keys', () => {
  it('says which one can be removed, and has nothing to do the second time', async () => {
    const [older, newer] = [await masterKeys(), generateMasterKey()]
    const env = { KEYTURN_MASTER_KEYS: `${newer},${older}` }
    const removal = `The master key ${idOf(older)} seals nothing any more: remove it from every server.\n`
    expect(await masterKey('rotate', env)).toEqual({
      code: 0,
      stdout: `4 of 4 keys were sealed anew; all of them are sealed by ${idOf(newer)} now.\n${removal}`,
      stderr: '',
    })
    expect(await masterKey('rotate', env)).toEqual({
      code: 0,
      stdout: `All 4 keys were sealed by ${idOf(newer)} already.\n${removal}`,
      stderr: '',
    })
    expect(await openAll(newer)).toBe(4)
    expect(await masterKeys()).toBe(older)
  })

  it('changes nothing with a key under the id of the right one', async () => {
    const older = await masterKeys()
    const wrong = `${idOf(older)}:${generateMasterKey().split(':')[1]}`
    const { code, stdout, stderr } = await masterKey('rotate', {
      KEYTURN_MASTER_KEYS: `${generateMasterKey()},${wrong}`,
    })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^keyturn: the integrity key of the instance cannot be opened: /)
    expect(stderr).not.toContain(wrong.split(':')[1])
    expect(await openAll(older)).toBe(4)
  })
})

describe('keyturn master-key status', () => {
  it('tells which master key seals how many keys, and which none opens', async () => {
    const [older, newer] = [await masterKeys(), generateMasterKey()]
    const rows = (...lines: string[]) => ['MASTER KEY   CONFIGURED  SEALS', ...lines, ''].join('\n')
    expect(await masterKey('status', { KEYTURN_MASTER_KEYS: `${newer},${older}` })).toEqual({
      code: 0,
      stdout: rows(`${idOf(newer)}  first       0`, `${idOf(older)}  yes         4`),
      stderr: '',
    })
    const { code, stdout } = await masterKey('status', { KEYTURN_MASTER_KEYS: newer })
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

it('keyturn master-key status refuses a schema that is not the one of this version, and leaves it as it is', async () => {
  const look = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const log = createRecordingLog()
    const database = await openDatabase({ kind: 'embedded', folder: join(dataDir, 'database'), log })
    return await work(database).finally(() => database.close())
  }
  const forget = "delete from kysely_migration where name = '0005-integrity'"
  await look(({ db }) => sql.raw(forget).execute(db))
  expect(await masterKey('status')).toEqual(
    refuses('the schema of the database is older than this version of Keyturn: run "keyturn migrate" first'),
  )
  const { rows } = await look(({ db }) => sql<{ name: string }>`select name from kysely_migration`.execute(db))
  expect(rows).not.toContainEqual({ name: '0005-integrity' })

  await look(({ db }) => sql`update instance set schema_major = 3`.execute(db))
  const { code, stderr } = await masterKey('status')
  expect(code).toBe(1)
  expect(stderr).toContain('a newer version of Keyturn has changed the database')
})

it.each([
  ['master-key', 'rotate'],
  ['master-key', 'status'],
  ['recover', '--base-url=http://localhost:1'],
])('keyturn %s %s that is interrupted ends the command for the master keys', async (...args) => {
  const pidFile = join(dataDir, 'pid')
  const child = spawnKeyturn(args, {
    KEYTURN_DATA_DIR: dataDir,
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
    await eventually(async () => expect(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).toBe(''))
  } finally {
    if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL')
  }
})

it('a file of master keys that is missing is never made by a rotation', async () => {
  await rm(masterKeyFile())
  expect(await masterKey('rotate')).toEqual(
    refuses(`the master key ${masterKeyFile()} of the embedded database is missing: restore it from a backup`),
  )
  expect(await readdir(dataDir)).not.toContain('master.key')
})
