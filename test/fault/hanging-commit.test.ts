import { timestampDate } from '@bufbuild/protobuf/wkt'
import { ConnectError } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf, administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import {
  type Keyturn,
  type KeyturnProcess,
  removeFolder,
  removeServers,
  startKeyturn,
  startKeyturnInProcess,
} from '../support/keyturn.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

const MAX_AGE_SECONDS = 86_400

const HANGING = `select query from pg_stat_activity where wait_event = 'SyncRep' and datname is not null`

let postgres: TestPostgres
let url: string
let started: Keyturn[]
/** A process, which can be killed. */
let creator: KeyturnProcess | undefined
beforeAll(async () => {
  postgres = await startPostgres()
})
beforeEach(async () => {
  url = await postgres.createDatabase()
  started = []
})
afterEach(async () => {
  await setStandby('')
  await creator?.kill()
  if (creator !== undefined) await removeFolder(creator.dataDir)
  creator = undefined
  await removeServers(...started)
})
afterAll(() => postgres?.stop())

/** The settings of the first replica. Others listen elsewhere. */
async function settings(): Promise<Record<string, string>> {
  const port = await freePort()
  return {
    KEYTURN_DATABASE_URL: url,
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    KEYTURN_LISTEN: `127.0.0.1:${port}`,
    KEYTURN_BASE_URL: `http://127.0.0.1:${port}`,
    KEYTURN_ACTIVATION_GUARD: 'enforce',
    KEYTURN_JWKS_MAX_AGE: String(MAX_AGE_SECONDS),
  }
}

async function startReplica(env: Record<string, string>): Promise<Keyturn> {
  const server = await startKeyturnInProcess({ env })
  started.push(server)
  return server
}

/** Commits wait for a standby of this name. None: they do not wait. */
async function setStandby(name: string): Promise<void> {
  await postgres.query(`alter system set synchronous_standby_names = '${name}'`)
  await postgres.query('select pg_reload_conf()')
  await eventually(async () => {
    expect(await postgres.query('show synchronous_standby_names')).toEqual([{ synchronous_standby_names: name }])
  })
}

async function untilCommitHangs(): Promise<void> {
  await eventually(async () => {
    expect(await postgres.query(HANGING)).toHaveLength(1)
  })
}

/** By the database's clock. The clock has whole milliseconds for us, so the next one is there when this returns. */
async function timeWithoutKey(): Promise<Date> {
  const [row] = await postgres.query<{ now: Date; keys: string }>(
    `select date_trunc('milliseconds', clock_timestamp()) as now, count(*) as keys, pg_sleep(0.002) from web_keys
      where state = 'initial'`,
    [],
    url,
  )
  expect(row?.keys).toBe('0')
  return row!.now
}

/** From when on the key may be activated, less the cache time. */
async function publicationOf(keyId: string, { keys }: Administration): Promise<Date> {
  const error = await keys.activateWebKey({ keyId }).catch((error: unknown) => error)
  const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema)
  expect(info?.reason).toBe('WEB_KEY_TOO_YOUNG')
  return new Date(Date.parse(info!.metadata.allowed_from!) - MAX_AGE_SECONDS * 1000)
}

describe('a key whose creation hangs in its commit', () => {
  it('is kept from signing until the cache time has passed since it became visible [Spec §8]', async () => {
    const administration = await administrationOf(await startReplica(await settings()))
    await setStandby('away')
    const creation = administration.keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    await untilCommitHangs()
    const unseen = await timeWithoutKey()
    await setStandby('')
    const { keyId } = (await creation).webKey!
    const publication = await publicationOf(keyId, administration)
    expect(publication.getTime()).toBeGreaterThan(unseen.getTime())
    const { webKey } = await administration.keys.getWebKey({ keyId })
    expect(timestampDate(webKey!.publicationDate!)).toEqual(publication)
    expect(timestampDate(webKey!.creationDate!).getTime()).toBeLessThan(unseen.getTime())
  })

  it('is dated by another replica if the one that created it has died, and is not activated before', async () => {
    const env = await settings()
    creator = await startKeyturn({ env })
    const other = await startReplica({ ...env, KEYTURN_LISTEN: '127.0.0.1:0' })
    const { keys, token } = await administrationOf(creator)
    await setStandby('away')
    const creation = keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } }).catch(() => 'lost')
    await untilCommitHangs()
    const unseen = await timeWithoutKey()
    await creator.kill()
    expect(await creation).toBe('lost')
    await setStandby('')
    const [row] = await eventually(async () => {
      const dated = await postgres.query<{ key_id: string; publication_date: Date }>(
        `select key_id, publication_date from web_keys where state = 'initial' and publication_date is not null`,
        [],
        url,
      )
      expect(dated).toHaveLength(1)
      return dated
    })
    expect(row!.publication_date.getTime()).toBeGreaterThan(unseen.getTime())
    expect(await publicationOf(row!.key_id, administrationWith(other, token))).toEqual(row!.publication_date)
  })
})
