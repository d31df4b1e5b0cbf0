/**
 * A server and the commands on the embedded database, and the master key that Keyturn made for it.
 */
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { generateMasterKey, parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { startEmbeddedDatabase } from '../support/embedded-database.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Keyturn,
  removeFolder,
  requestToken,
  runKeyturnInProcess,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { childrenOf } from '../support/proc.ts'
import { openAllSealed } from '../support/sealed-keys.ts'
import { processesOn, serverAmong } from '../support/server-processes.ts'
import { refuses } from '../support/terminal.ts'
import { describeUnless, NOT_LINUX } from '../support/unless.ts'
import { webKeyClient } from '../support/web-key-client.ts'

const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const

/** The data directory of one instance with three web keys. Each test leaves it usable. */
let dataDir: string
let server: Keyturn | undefined
beforeAll(async () => {
  dataDir = await temporaryFolder()
  await start()
  const client = webKeyClient(server!.listenUrl, await tokenOf())
  for (let count = 0; count < 2; count += 1) await client.createWebKey(ED25519)
})
afterAll(async () => {
  await stop()
  await removeFolder(dataDir)
})

async function start(): Promise<void> {
  server = await startKeyturnInProcess({ dataDir })
}
async function stop(): Promise<void> {
  await server?.stop()
  server = undefined
}
/** The credentials file has the address of the first start. */
const tokenOf = async () =>
  await requestToken({ ...(await server!.admin()), token_endpoint: `${server!.listenUrl}/oauth/v2/token` })
const keyturn = (args: readonly string[], folder = dataDir) =>
  runKeyturnInProcess(args, { KEYTURN_DATA_DIR: folder, KEYTURN_BASE_URL: 'http://localhost:1' })

const masterKeyFile = () => join(dataDir, 'master.key')
const masterKeys = async () => (await readFile(masterKeyFile(), 'utf8')).trim()
const idOf = (masterKey: string) => masterKey.split(':')[0]!

const COMMANDS = [[['master-key', 'rotate']], [['recover']]] as const

describeUnless(NOT_LINUX)('a server on the embedded database', () => {
  it('serves from memory while PostgreSQL is away, and changes keys again when it is back', async () => {
    const client = webKeyClient(server!.listenUrl, await tokenOf())
    const database = join(dataDir, 'postgres')
    const postgres = serverAmong(await processesOn(database))!
    // It lets nobody in any more, and those who were in are out.
    process.kill(postgres, 'SIGSTOP')
    for (const pid of childrenOf(postgres)) process.kill(pid, 'SIGKILL')
    const refused = await client.createWebKey(ED25519).catch(ConnectError.from)
    // Before anything is expected: one that is stopped like this would outlive a test that fails.
    process.kill(postgres, 'SIGKILL')
    expect(refused).toMatchObject({ code: Code.Unavailable })
    await tokenOf()
    expect((await fetch(`${server!.listenUrl}/readyz`)).status).toBe(200)
    const { details } = await eventually(() => client.createWebKey(ED25519))
    await client.activateWebKey({ keyId: details!.keyId })
    expect(serverAmong(await processesOn(database))).not.toBe(postgres)
    expect(server!.output().stderr).toContain('the embedded PostgreSQL has ended and will be started again')
  })
})

describe('while a server has the data directory', () => {
  it.each([...COMMANDS, [['migrate']]])('keyturn %j is refused', async (args) => {
    expect(await keyturn(args)).toEqual(
      refuses(
        `the data directory ${dataDir} is in use by another process: stop that process or choose another directory`,
      ),
    )
  })
})

describe('while no server has the data directory', () => {
  beforeAll(stop)
  afterEach(stop)

  /** Opens every sealed key, the integrity key with them, with these master keys, and returns how many there are. */
  async function openAll(...[masterKeys, ...others]: string[]): Promise<number> {
    const database = await startEmbeddedDatabase(dataDir)
    try {
      for (const other of others) await expect(openAllSealed(database.url, other)).rejects.toThrow('is not configured')
      return await openAllSealed(database.url, masterKeys!)
    } finally {
      await database.stop()
    }
  }

  it('keyturn recover gives the owner a new secret, with which clients work when the server has started', async () => {
    const file = join(dataDir, 'admin.json')
    await rm(file)
    expect(await keyturn(['recover'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^A new secret of the owner .+ was written to /),
      stderr: '',
    })
    await start()
    expect(decodeJwt(await tokenOf()).iss).toBe(server!.baseUrl)
  })

  describe('keyturn master-key rotate', () => {
    it('replaces the key that Keyturn made by a new one, under which the instance goes on', async () => {
      const before = await masterKeys()
      const count = await openAll(before)
      const { code, stdout, stderr } = await keyturn(['master-key', 'rotate'])
      const after = await masterKeys()
      expect({ code, stdout, stderr }).toEqual({
        code: 0,
        stdout:
          `${count} of ${count} keys were sealed anew; all of them are sealed by ${idOf(after)} now.\n` +
          `${masterKeyFile()} has only that one now.\n`,
        stderr: '',
      })
      expect(parseMasterKeys(after)).toHaveLength(1)
      expect(idOf(after)).not.toBe(idOf(before))
      expect((await stat(masterKeyFile())).mode & 0o777).toBe(0o600)
      expect(await openAll(after, before)).toBe(count)
      await start()
      await tokenOf()
    })
  })

  describe('with another master key', () => {
    let right: string
    beforeAll(async () => {
      right = await readFile(masterKeyFile(), 'utf8')
      await writeFile(masterKeyFile(), generateMasterKey())
    })
    afterAll(() => writeFile(masterKeyFile(), right))

    it('keyturn master-key rotate changes nothing', async () => {
      const wrong = await masterKeys()
      const { code, stdout, stderr } = await keyturn(['master-key', 'rotate'])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^keyturn: the integrity key of the instance cannot be opened: master key "mk-\w+" sealed it/,
      )
      expect(await masterKeys()).toBe(wrong)
      expect(await openAll(right.trim(), wrong)).toBeGreaterThan(1)
    })

    it('a server does not start', async () => {
      await expect(start()).rejects.toThrow(
        /^the integrity key of the instance cannot be opened: .*restore master\.key/,
      )
    })
  })

  describe('without the master key, none is made and it is said what to do', () => {
    beforeAll(() => rename(masterKeyFile(), `${masterKeyFile()}.away`))
    afterAll(() => rename(`${masterKeyFile()}.away`, masterKeyFile()))
    const why = () => `the master key ${masterKeyFile()} of the embedded database is missing: restore it from a backup`
    afterEach(async () => expect(await readdir(dataDir)).not.toContain('master.key'))

    it.each([[['master-key', 'rotate']], [['recover']]])('by keyturn %j', async (args) => {
      expect(await keyturn(args)).toEqual(refuses(why()))
    })

    it('by a server that starts', async () => {
      await expect(start()).rejects.toThrow(new Error(why()))
    })
  })
})

describe('a data directory without an instance', () => {
  it.each(COMMANDS)('is refused by keyturn %j, which leaves nothing there', async (args) => {
    const empty = await temporaryFolder()
    try {
      expect(await keyturn(args, empty)).toEqual(
        refuses(`there is no embedded database in ${empty}: name the data directory of the server with --data-dir`),
      )
      expect(await readdir(empty)).toEqual([])
    } finally {
      await removeFolder(empty)
    }
  })
})
