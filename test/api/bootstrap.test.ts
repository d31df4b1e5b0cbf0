import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeFolder, requestToken, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { webKeyClient } from '../support/web-key-client.ts'

let postgres: TestPostgres
let url: string
let env: Record<string, string>
beforeAll(() => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  url = await postgres.createMigratedDatabase()
  env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey(), KEYTURN_ACTIVATION_GUARD: 'off' }
})
afterAll(() => postgres?.stop())

const folders: string[] = []
const servers: Keyturn[] = []

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder()
  folders.push(folder)
  return folder
}

async function start(options: Parameters<typeof startKeyturnInProcess>[0]): Promise<Keyturn> {
  const server = await startKeyturnInProcess(options)
  servers.push(server)
  return server
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
  for (const folder of folders.splice(0)) await removeFolder(folder)
})

describe('the first start', () => {
  it('keeps a file aside that was there already', async () => {
    const dataDir = await newFolder()
    await writeFile(join(dataDir, 'admin.json'), 'the only secret of another instance', { mode: 0o600 })
    const server = await start({ dataDir, env })

    await requestToken(await server.admin())
    const names = (await readdir(dataDir)).filter((name) => name.startsWith('admin.json')).sort()
    expect(names).toEqual(['admin.json', expect.stringMatching(/^admin\.json\..+\.old$/)])
    expect(await readFile(join(dataDir, names[1]!), 'utf8')).toBe('the only secret of another instance')
    expect(server.output().stderr).toContain(`"kept":"${join(dataDir, names[1]!)}"`)
  })

  it('that cannot write them leaves the instance empty, says why, and can be repeated', async () => {
    const dataDir = await newFolder()
    const blocked = join(dataDir, 'blocked')
    await writeFile(blocked, '')
    const refused = start({ dataDir, env: { ...env, KEYTURN_CREDENTIALS: join(blocked, 'admin.json') } })
    await expect(refused).rejects.toThrow(blocked)

    const server = await start({ dataDir, env })
    await requestToken(await server.admin())
  })
})

describe('servers on PostgreSQL', () => {
  /** Two replicas behind one address, started at the same time. */
  async function startBoth(): Promise<[Keyturn, Keyturn]> {
    const port = await freePort()
    const shared = { ...env, KEYTURN_BASE_URL: `http://localhost:${port}` }
    const folders = [await newFolder(), await newFolder()] as const
    return Promise.all([
      start({ dataDir: folders[0], env: { ...shared, KEYTURN_LISTEN: `127.0.0.1:${port}` } }),
      start({ dataDir: folders[1], env: shared }),
    ])
  }

  it('that start at the same time on an empty database agree on one administrator and one active key', async () => {
    url = await postgres.createDatabase()
    env.KEYTURN_DATABASE_URL = url
    const replicas = await startBoth()
    const files = await Promise.all(replicas.map(async ({ dataDir }) => await readdir(dataDir)))
    expect(files.flat()).toEqual(['admin.json'])

    const admin = await (files[0]!.length === 1 ? replicas[0] : replicas[1]).admin()
    for (const { listenUrl } of replicas) {
      const token = await requestToken({ ...admin, token_endpoint: `${listenUrl}/oauth/v2/token` })
      for (const other of replicas) {
        const { webKeys } = await webKeyClient(other.listenUrl, token).listWebKeys({})
        expect(webKeys).toEqual([expect.objectContaining({ algorithm: 'RS256', state: State.ACTIVE })])
      }
    }
    const counts = ['projects', 'service_users', 'credentials', 'web_keys'].map(
      (table) => `(select count(*)::int from ${table}) as ${table}`,
    )
    expect(await postgres.query(`select ${counts.join(', ')}`, [], url)).toEqual([
      { projects: 1, service_users: 1, credentials: 1, web_keys: 1 },
    ])
  })
})
