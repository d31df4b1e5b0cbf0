/**
 * Two regions: a primary with a server of Keyturn, and a hot standby of it with another one, which issue tokens in one name.
 */
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'

/** The least that is allowed on a standby, in seconds. */
export const MAX_STALENESS_SECONDS = 15

/** Where the regional server sends those whose changes it refuses. */
export const PRIMARY_URL = 'https://primary.example'

const MASTER_KEY = generateMasterKey()

/** A region. */
export interface Region {
  readonly server: PostgresServer
  readonly keyturn: Keyturn
}

/** Both of them. */
export interface Regions {
  readonly primary: Region
  readonly regional: Region
  /** Between the regional server of Keyturn and the primary. */
  readonly wire: TcpProxy
  /** Of all servers. */
  readonly issuer: string
  /** Starts another server of Keyturn on one of the databases. It is stopped at the end. */
  start(server: PostgresServer, env?: Readonly<Record<string, string>>): Promise<Keyturn>
  /** The first administrator, at one of the servers. */
  administrationAt(keyturn: Keyturn): Promise<Administration>
  stop(): Promise<void>
}

/** Makes a primary and a standby that follows it, both running and empty. */
async function createStandby(): Promise<{
  readonly primary: PostgresServer
  readonly standby: PostgresServer
}> {
  const primary = await createPostgresServer()
  await primary.stop('fast')
  const standby = await primary.copy()
  await standby.follow(primary, 'standby')
  await primary.start()
  await standby.start()
  return { primary, standby }
}

/** Starts both regions. */
export async function startRegions(): Promise<Regions> {
  const { primary, standby } = await createStandby()
  const wire = await startTcpProxy(primary.port, await freePort())
  const started: Keyturn[] = []
  let issuer: string | undefined
  const start = async (server: PostgresServer, env: Readonly<Record<string, string>> = {}) => {
    const keyturn = await startKeyturnInProcess({
      env: {
        KEYTURN_DATABASE_URL: server.url(),
        KEYTURN_MASTER_KEYS: MASTER_KEY,
        KEYTURN_MAX_STALENESS: String(MAX_STALENESS_SECONDS),
        KEYTURN_PRIMARY_URL: PRIMARY_URL,
        KEYTURN_ZITADEL_API: 'on',
        ...(issuer === undefined ? {} : { KEYTURN_BASE_URL: issuer }),
        ...env,
      },
    })
    started.push(keyturn)
    return keyturn
  }
  const stop = async () => {
    await Promise.all(started.map((keyturn) => keyturn.stop()))
    await wire.close()
    await Promise.all([standby.destroy(), primary.destroy()])
  }
  try {
    const first = await start(primary)
    issuer = first.baseUrl
    // Else the second one would wait for it, and log that.
    await eventually(async () => {
      const [{ count } = { count: 0 }] = await standby.query<{ count: number }>('select count(*)::int from replicas')
      if (count === 0) throw new Error('no heartbeat has arrived yet')
    })
    const second = await start(standby, { KEYTURN_PRIMARY_DATABASE_URL: primary.url(wire.port) })
    const admin = await first.admin()
    const administrationAt = async (keyturn: Keyturn) => {
      const token_endpoint = `${keyturn.listenUrl}/oauth/v2/token`
      return administrationWith(keyturn, await requestToken({ ...admin, token_endpoint }))
    }
    return {
      primary: { server: primary, keyturn: first },
      regional: { server: standby, keyturn: second },
      wire,
      issuer,
      start,
      administrationAt,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Waits until a standby has replayed all that its primary has written. */
export async function untilReplayed(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [written] = await primary.query<{ lsn: string }>('select pg_current_wal_insert_lsn()::text as lsn')
  await eventually(async () => {
    const [replayed] = await standby.query<{ there: boolean }>(
      'select pg_last_wal_replay_lsn() >= $1::pg_lsn as there',
      [written?.lsn],
    )
    if (replayed?.there !== true) throw new Error('the standby lags behind')
  })
}
