/**
 * A backup is worth what its restore is. With the tools of PostgreSQL, as docs/operations.md says.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import {
  type AdminCredentials,
  type KeyturnProcess,
  removeFolder,
  requestToken,
  startKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { WITHOUT_DEBIAN_POSTGRES } from '../support/postgres-programs.ts'
import { describeUnless } from '../support/unless.ts'
import { webKeyClient } from '../support/web-key-client.ts'

const TOOLS = '/usr/lib/postgresql/15/bin'
const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const

const run = promisify(execFile)

describeUnless(WITHOUT_DEBIAN_POSTGRES)('a restored backup', () => {
  let postgres: TestPostgres
  let folder: string
  const servers: KeyturnProcess[] = []
  const masterKeys = generateMasterKey()

  beforeAll(async () => {
    postgres = await startPostgres({ version: 'debian' })
    folder = await temporaryFolder()
  })
  afterAll(async () => {
    for (const server of servers) {
      await server.kill()
      await removeFolder(server.dataDir)
    }
    if (folder !== undefined) await removeFolder(folder)
    await postgres?.stop()
  })

  async function start(url: string, baseUrl: string | undefined): Promise<KeyturnProcess> {
    const env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: masterKeys }
    const server = await startKeyturn({
      env: baseUrl === undefined ? env : { ...env, KEYTURN_BASE_URL: baseUrl, KEYTURN_LISTEN: new URL(baseUrl).host },
    })
    servers.push(server)
    return server
  }

  const keySet = async ({ base_url }: AdminCredentials) =>
    (await fetch(`${base_url}/.well-known/openid-configuration/jwks`)).text()

  it('has the keys and the secrets of its time, opens with the same master keys, and goes on', async () => {
    const url = await postgres.createDatabase()
    const first = await start(url, undefined)
    const admin = await first.admin()
    const before = await requestToken(admin)
    const { details: standby } = await webKeyClient(admin.base_url, before).createWebKey(ED25519)
    const published = await keySet(admin)

    const dump = join(folder, 'keyturn.dump')
    await run(join(TOOLS, 'pg_dump'), ['--format=custom', `--file=${dump}`, `--dbname=${url}`])

    // What comes after the backup is not in it.
    const { details: late } = await webKeyClient(admin.base_url, before).createWebKey(ED25519)
    await webKeyClient(admin.base_url, before).activateWebKey({ keyId: late!.keyId })
    const after = await requestToken(admin)
    await first.stop()

    const restored = await postgres.createDatabase()
    await run(join(TOOLS, 'pg_restore'), [`--dbname=${restored}`, dump])
    await start(restored, admin.base_url)

    expect(await keySet(admin)).toBe(published)
    const verify = (token: string) =>
      jwtVerify(token, createRemoteJWKSet(new URL(`${admin.base_url}/.well-known/openid-configuration/jwks`)))
    await verify(before)
    await expect(verify(after)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })

    const fresh = await requestToken(admin)
    expect(decodeProtectedHeader(fresh).kid).toBe(decodeProtectedHeader(before).kid)
    await webKeyClient(admin.base_url, fresh).activateWebKey({ keyId: standby!.keyId })
    expect(decodeProtectedHeader(await requestToken(admin)).kid).toBe(standby!.keyId)
  })
})
