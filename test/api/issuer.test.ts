import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import {
  type Keyturn,
  removeFolder,
  requestToken,
  runKeyturnInProcess,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { refuses } from '../support/terminal.ts'

const FIRST = 'https://id.example.com'
const SECOND = 'https://tokens.example.com'

let dataDir: string
let server: Keyturn | undefined
beforeEach(async () => {
  dataDir = await temporaryFolder()
})
afterEach(async () => {
  await server?.stop()
  server = undefined
  await removeFolder(dataDir)
})

const issuerOf = async (): Promise<unknown> => {
  const admin = await server!.admin()
  return decodeJwt(await requestToken({ ...admin, token_endpoint: `${server!.listenUrl}/oauth/v2/token` })).iss
}

describe('the issuer of an instance on PostgreSQL', () => {
  let postgres: TestPostgres
  let env: Record<string, string>
  beforeAll(async () => {
    postgres = sharedPostgres()
  })
  beforeEach(async () => {
    env = {
      KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(),
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_DATA_DIR: dataDir,
    }
  })
  afterAll(async () => {
    await postgres?.stop()
  })

  const start = async (baseUrl: string, more: Record<string, string> = {}) => {
    server = await startKeyturnInProcess({ dataDir, env: { ...env, KEYTURN_BASE_URL: baseUrl, ...more } })
  }
  const issuer = (...args: string[]) => runKeyturnInProcess(['issuer', ...args], env)
  const readiness = async () => (await fetch(`${server!.listenUrl}/readyz`)).text()

  it('is that of the first server, and one with another base URL does not start, configured or not', async () => {
    await start(FIRST)
    const why = (own: string) =>
      `the issuer of this instance is ${FIRST}, and the base URL of this server is ${own}: start it with ` +
      `KEYTURN_BASE_URL=${FIRST}, or change the issuer on purpose with "keyturn issuer change ${own}", after which ` +
      'verifiers must expect the new one'
    const second = { ...env, KEYTURN_BASE_URL: SECOND }
    await expect(startKeyturnInProcess({ dataDir, env: second })).rejects.toThrow(new Error(why(SECOND)))
    const port = await freePort()
    // Empty is not set.
    const unset = { ...env, KEYTURN_LISTEN: `127.0.0.1:${port}`, KEYTURN_BASE_URL: '' }
    const refused = startKeyturnInProcess({ dataDir, env: unset })
    await expect(refused).rejects.toThrow(new Error(why(`http://localhost:${port}`)))
    expect(await issuerOf()).toBe(FIRST)
  })

  it('is changed on purpose while a server runs, which then serves no longer than it may', async () => {
    await start(FIRST, { KEYTURN_MAX_STALENESS: '1' })
    expect(await issuer('show')).toEqual({ code: 0, stdout: `${FIRST}\n`, stderr: '' })
    expect(await issuer('change', SECOND)).toEqual({
      code: 0,
      stdout: [
        `The issuer is ${SECOND} now; before, it was ${FIRST}.`,
        `Next: start every server again with KEYTURN_BASE_URL=${SECOND}. Those that run make no more changes, and stop issuing`,
        'tokens after KEYTURN_MAX_STALENESS. Verifiers must expect the new issuer, and clients ask for tokens there.',
        '',
      ].join('\n'),
      stderr: '',
    })
    await eventually(async () =>
      expect(JSON.parse(await readiness())).toEqual({
        status: 'not ready',
        reason: expect.stringContaining(
          `the issuer of the instance has been changed to ${SECOND}: start this server again with KEYTURN_BASE_URL=${SECOND}`,
        ),
      }),
    )
    await server?.stop()
    await start(SECOND)
    expect(await issuerOf()).toBe(SECOND)
  })

  it('is not changed to what cannot be one, nor before there is an instance', async () => {
    env.KEYTURN_DATABASE_URL = await postgres.createDatabase()
    expect(await issuer('change', 'http://id.example.com')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/'http:.*' is invalid for argument 'url'\. It must be https/),
    })
    expect(await issuer('show')).toEqual(
      refuses('the schema of the database is older than this version of Keyturn: run "keyturn migrate" first'),
    )
    expect(await issuer('change', SECOND)).toEqual(
      refuses('the instance has not been set up: "keyturn serve" does that when it starts'),
    )
  })
})
