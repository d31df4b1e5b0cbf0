/**
 * The start of a server of Keyturn on a hot standby, before its primary has what it needs.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import {
  type Keyturn,
  removeFolder,
  runKeyturn,
  spawnKeyturn,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import type { PostgresServer } from './postgres-server.ts'
import { createStandby } from './regions.ts'

let primary: PostgresServer
let standby: PostgresServer
let folder: string
let stops: (() => Promise<unknown>)[]

beforeEach(async () => {
  stops = []
  folder = await temporaryFolder()
  ;({ primary, standby } = await createStandby())
})
afterEach(async () => {
  await Promise.all(stops.map((stop) => stop()))
  await standby?.destroy()
  await primary?.destroy()
  await removeFolder(folder)
})

const masterKeys = generateMasterKey()

function settingsFor(server: PostgresServer, baseUrl: string, port: number): Record<string, string> {
  return {
    KEYTURN_DATABASE_URL: server.url(),
    KEYTURN_MASTER_KEYS: masterKeys,
    KEYTURN_BASE_URL: baseUrl,
    KEYTURN_LISTEN: `127.0.0.1:${port}`,
    KEYTURN_METRICS_LISTEN: 'off',
    KEYTURN_DATA_DIR: folder,
  }
}

async function startPrimary(baseUrl: string, port: number): Promise<Keyturn> {
  const keyturn = await startKeyturnInProcess({ env: settingsFor(primary, baseUrl, port) })
  stops.push(() => keyturn.stop())
  return keyturn
}

describe('a server on a standby', () => {
  it('waits for the schema and for the instance, which its primary gets, says so, and then serves', async () => {
    const [port, regionalPort] = [await freePort(), await freePort()]
    const baseUrl = `http://localhost:${port}`
    const child = spawnKeyturn(['serve'], settingsFor(standby, baseUrl, regionalPort))
    let log = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    stops.push(async () => {
      child.kill('SIGTERM')
      await ended
    })
    await eventually(() => expect(log).toContain('the database is a standby, and its schema is older'))
    const migrated = await runKeyturn(['migrate'], settingsFor(primary, baseUrl, port))
    expect(migrated).toMatchObject({ code: 0 })
    await eventually(() => expect(log).toContain('the database is a standby, and the instance has not been set up'))
    await startPrimary(baseUrl, port)
    await eventually(async () => {
      const response = await fetch(`http://127.0.0.1:${regionalPort}/readyz`)
      expect(await response.json()).toMatchObject({ status: 'ready', database: 'standby' })
    })
  })

  it('does not start with a staleness limit that heartbeats cannot meet', async () => {
    const port = await freePort()
    const baseUrl = `http://localhost:${port}`
    await startPrimary(baseUrl, port)
    const env = { ...settingsFor(standby, baseUrl, await freePort()), KEYTURN_MAX_STALENESS: '14' }
    const { code, stderr } = await eventually(() => runKeyturn(['serve'], env))
    expect({ code, stderr }).toEqual({
      code: expect.any(Number),
      stderr: expect.stringContaining('KEYTURN_MAX_STALENESS must be at least 15, and is 14'),
    })
    expect(code).not.toBe(0)
  })
})
