import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, SignJWT } from 'jose'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, runKeyturnInProcess, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

let postgres: TestPostgres | undefined
let server: Keyturn | undefined

beforeAll(async () => {
  postgres = sharedPostgres()
})
afterEach(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
  server = undefined
})
afterAll(async () => {
  await postgres?.stop()
})

/** A server on a database whose clock is so many seconds ahead of this machine's. */
async function startOnClockAhead(seconds: number): Promise<Keyturn> {
  const url = await postgres!.createDatabase()
  const name = new URL(url).pathname.slice(1)
  await postgres!.query(
    `create function clock_timestamp() returns timestamptz language sql as
      $$ select pg_catalog.clock_timestamp() + interval '${seconds} seconds' $$`,
    [],
    url,
  )
  // With its name in the path, functions of pg_catalog give way to ours.
  await postgres!.query(`alter database ${name} set search_path = public, pg_catalog`)
  server = await startKeyturnInProcess({
    env: { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey(), KEYTURN_TOKEN_LIFETIME: '120' },
  })
  return server
}

describe('a replica whose clock is wrong by ten minutes', () => {
  it.each([
    ['behind', 600],
    ['ahead', -600],
  ])('dates tokens and looks at them like the others, and says that it is %s', async (_, seconds) => {
    const { baseUrl, admin, output } = await startOnClockAhead(seconds)
    const before = Math.floor(Date.now() / 1000)
    const token = await requestToken(await admin())
    const after = Math.ceil(Date.now() / 1000)

    const { iat = 0, exp = 0 } = decodeJwt(token)
    // The database's clock is read in milliseconds and rounded to whole seconds.
    expect(iat).toBeGreaterThanOrEqual(before + seconds - 1)
    expect(iat).toBeLessThanOrEqual(after + seconds + 1)
    expect(exp - iat).toBe(120)

    expect((await webKeyClient(baseUrl, token).listWebKeys({})).webKeys).toHaveLength(1)
    await eventually(() => expect(output().stderr).toContain('the clock of this machine is not that of the database'))
  })

  it('is what "keyturn federation check" goes by, and not the clock of the terminal', async () => {
    const { baseUrl, dataDir } = await startOnClockAhead(600)
    const keyturn = (...args: string[]) => runKeyturnInProcess(args, { KEYTURN_DATA_DIR: dataDir })
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const [keys, jwt, issuer] = [join(dataDir, 'keys.json'), join(dataDir, 'jwt'), 'https://cluster.example']
    await writeFile(keys, JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }))
    const content = { iss: issuer, sub: 'robot', aud: baseUrl }
    const signed = new SignJWT(content).setProtectedHeader({ alg: 'ES256' }).setIssuedAt().setExpirationTime('5m')
    await writeFile(jwt, await signed.sign(privateKey))
    await keyturn('federation', 'issuers', 'create', issuer, '--keys', keys)
    await keyturn('projects', 'create', 'shop')
    const { stdout } = await keyturn('users', 'create', 'robot', '--project', 'shop')
    const checked = await keyturn('federation', 'check', stdout.replace('created ', '').trim(), jwt)
    expect(checked).toMatchObject({ code: 1, stderr: expect.stringContaining('exp must lie in the future') })
  })
})
