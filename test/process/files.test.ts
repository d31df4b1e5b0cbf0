import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { removeFolder, runKeyturn, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { freePort } from '../support/postgres.ts'

let folder: string

beforeEach(async () => {
  folder = await temporaryFolder()
})

afterEach(() => removeFolder(folder))

const serve = (env: Record<string, string>) =>
  runKeyturn(['serve'], { KEYTURN_LISTEN: '127.0.0.1:0', KEYTURN_METRICS_LISTEN: 'off', ...env })

describe('files that cannot be used', () => {
  it('are all named before anything starts, with exit code 2', async () => {
    const dataDir = join(folder, 'data')
    const { code, stderr } = await serve({
      KEYTURN_DATA_DIR: dataDir,
      KEYTURN_MASTER_KEYS_FILE: join(folder, 'no-master-keys'),
      KEYTURN_TLS_CERT_FILE: join(folder, 'no-cert'),
      KEYTURN_TLS_KEY_FILE: join(folder, 'no-key'),
    })
    expect(code).toBe(2)
    expect(stderr).toContain('no-master-keys')
    expect(stderr).toContain('no-cert')
    expect(await readdir(folder)).toEqual([])
  })

  it('are found by "keyturn config" as well', async () => {
    const { code, stderr } = await runKeyturn(['config'], { KEYTURN_MASTER_KEYS_FILE: join(folder, 'no-master-keys') })
    expect(code).toBe(2)
    expect(stderr).toContain('no-master-keys')
  })
})

describe('the credentials file', () => {
  it('never takes the place of a folder', async () => {
    const credentials = join(folder, 'precious')
    await mkdir(credentials)
    await writeFile(join(credentials, 'file'), 'kept')
    const { code, stderr } = await serve({ KEYTURN_DATA_DIR: join(folder, 'data'), KEYTURN_CREDENTIALS: credentials })
    expect(code).toBe(1)
    expect(stderr).toContain('cannot write the credentials file')
    expect(await readdir(credentials)).toEqual(['file'])
    expect((await readdir(folder)).sort()).toEqual(['data', 'precious'])
  })
})

describe('the generated master key', () => {
  it('is not replaced by another one when it is lost', async () => {
    const server = await startKeyturn({ dataDir: folder })
    await server.stop()
    await rm(join(folder, 'master.key'))
    const { code, stderr } = await serve({ KEYTURN_DATA_DIR: folder })
    expect(code).toBe(1)
    expect(stderr).toMatch(/the master key .*master\.key of the embedded database is missing/)
    expect(await readdir(folder)).not.toContain('master.key')
  })

  it('does not open what another key has sealed', async () => {
    const server = await startKeyturn({ dataDir: folder })
    await server.stop()
    await writeFile(join(folder, 'master.key'), generateMasterKey())
    const { code, stderr } = await serve({ KEYTURN_DATA_DIR: folder })
    expect(code).toBe(1)
    expect(stderr).toMatch(/the integrity key of the instance cannot be opened: .*restore master\.key/)
  })
})

describe('stopping', () => {
  it('does not wait for a connection to the metrics address that asks for nothing', async () => {
    const port = await freePort()
    const server = await startKeyturn({ dataDir: folder, env: { KEYTURN_METRICS_LISTEN: `127.0.0.1:${port}` } })
    const idle = connect(port, '127.0.0.1')
    // Reset if it has not been taken in when the port is closed.
    idle.on('error', () => {})
    await new Promise((resolve) => idle.once('connect', resolve))
    expect(await server.stop()).toBe(0)
    idle.destroy()
  })
})
