import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { freePort } from '../support/free-port.ts'
import {
  type Keyturn,
  removeFolder,
  removeServers,
  runKeyturnInProcess,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { newPostgresDatabase } from '../support/new-database.ts'

let folder: string
let file: string
let baseUrl: string
let env: Record<string, string>
const running: Keyturn[] = []

beforeEach(async () => {
  folder = await temporaryFolder()
  file = join(folder, 'given.json')
  const port = await freePort()
  baseUrl = `http://localhost:${port}`
  env = { KEYTURN_LISTEN: `127.0.0.1:${port}`, KEYTURN_BASE_URL: baseUrl, KEYTURN_INITIAL_CREDENTIALS_FILE: file }
})
afterEach(async () => {
  await removeServers(...running.splice(0))
  await removeFolder(folder)
})

/** As `keyturn initial-credentials` prints them, with changes. */
async function give(changes: Record<string, string> = {}): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await runKeyturnInProcess(['initial-credentials', baseUrl])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const credentials = { ...JSON.parse(stdout), ...changes }
  await writeFile(file, JSON.stringify(credentials))
  return credentials
}

async function start(): Promise<Keyturn> {
  const server = await startKeyturnInProcess({ env })
  running.push(server)
  return server
}

const listKeys = () => runKeyturnInProcess(['keys', 'list', '--credentials', file])

describe('an instance with initial credentials', () => {
  it('has an administrator who signs in with them, and no other copy of them', async () => {
    const credentials = await give()
    expect(credentials).toEqual({
      base_url: baseUrl,
      token_endpoint: `${baseUrl}/oauth/v2/token`,
      client_id: expect.stringMatching(/^[\w-]{36}@keyturn$/),
      client_secret: expect.stringMatching(/^ktn_cs_/),
    })
    const { dataDir, output } = await start()
    expect(await listKeys()).toMatchObject({ code: 0, stderr: '' })
    const users = await runKeyturnInProcess(['users', 'list', '--credentials', file])
    expect(users.stdout).toContain(credentials.client_id)
    expect(await readdir(dataDir)).not.toContain('admin.json')
    expect(output().stderr).not.toContain(credentials.client_secret)
  })

  it('keeps the administrator that it has, and does not read the file again', async () => {
    env = { ...env, KEYTURN_DATABASE_URL: await newPostgresDatabase(), KEYTURN_MASTER_KEYS: generateMasterKey() }
    const before = await give()
    await start()
    await running.pop()?.stop()
    await give({ base_url: 'http://localhost:1' })
    await start()
    const other = await runKeyturnInProcess(['token', '--credentials', file])
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('invalid_client') })
    await writeFile(file, JSON.stringify(before))
    expect(await listKeys()).toMatchObject({ code: 0 })
  })

  it.each([
    ['for another server', { base_url: 'http://localhost:1' }, /is for http:\/\/localhost:1, and this server is /],
    ['without a client ID', { client_id: 'administrator' }, /the client_id in .* is no client ID/],
    ['with a made-up secret', { client_secret: 'correct horse' }, /the client_secret in .* was not generated/],
  ])('is not made with credentials %s', async (_, changes, message) => {
    await give(changes)
    await expect(startKeyturnInProcess({ env })).rejects.toThrow(message)
  })

  it('is not made while the file is missing', async () => {
    await expect(startKeyturnInProcess({ env })).rejects.toThrow(/cannot read the credentials file .*given\.json/)
  })
})
