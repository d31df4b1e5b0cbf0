/**
 * Two servers on one PostgreSQL in the process of the test, which sees how far the calls that they answer have come.
 *
 * What the servers do is not changed: two methods of theirs are called through, and noted. Calls can be held after one of them.
 */
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { join } from 'node:path'
import { jest } from '@jest/globals'
import { Access } from '../../src/app/access/access.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { RequestContexts } from '../../src/http/requests/request-context.ts'
import { type RunningServer, startServer } from '../../src/server/server.ts'
import { type Database, openDatabase } from '../../src/storage/postgres/database.ts'
import type { ServerLog } from '../../src/telemetry/log/log.ts'
import { eventually } from '../support/eventually.ts'
import { HELD_CALL } from '../support/held-call.ts'
import { type AdminCredentials, removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { createRecordingLog, type RecordingLog } from '../support/log.ts'
import { sharedPostgres } from '../support/new-database.ts'

/** A server, and connections to it. */
export interface WatchedServer {
  readonly listenUrl: string
  readonly http2: ClientHttp2Session
  readonly grpc: ClientHttp2Session
}

/** Two servers of one instance. */
export interface WatchedServers {
  readonly first: WatchedServer
  readonly second: WatchedServer
  readonly database: Database
  /** The credentials of the first administrator. */
  readonly admin: AdminCredentials
  /** Waits until the gate has let these calls through. */
  passedGate(ids: readonly string[]): Promise<void>
  /**
   * Holds the calls of a user that are let through after their body.
   *
   * If they waited for the lock of the instance instead, all of them at once, those that get no database connection in time would be refused as
   * unavailable.
   */
  holdAfterBody(userId: string): HeldUser
  /** Ends everything. @throws {Error} if a server logged an error. */
  stop(): Promise<void>
}

/** The calls of a user, held after their body. */
export interface HeldUser {
  /** Waits until so many calls are held. */
  passedBody(calls: number): Promise<void>
  /** Lets one of them go on. */
  release(): void
}

/** Starts both. Stop them in `afterAll`. */
export async function startWatchedServers(): Promise<WatchedServers> {
  const gate = watchGate()
  const body = watchBody()
  const postgres = sharedPostgres()
  const url = await postgres.createMigratedDatabase()
  const dataDir = await temporaryFolder()
  const log = createRecordingLog()
  const start = async (env: Readonly<Record<string, string>>): Promise<RunningServer> =>
    startServer(
      readConfig({}, { ...SETTINGS, KEYTURN_DATABASE_URL: url, KEYTURN_DATA_DIR: dataDir, ...env }),
      withRequests(log),
    )
  const one = await start({})
  const other = await start({ KEYTURN_BASE_URL: one.baseUrl })
  const [first, second] = [one, other].map(({ listenUrl }) => {
    return { listenUrl, http2: connect(listenUrl), grpc: connect(listenUrl) }
  })
  const database = await openDatabase({ url, log: createRecordingLog() })
  return {
    first: first!,
    second: second!,
    database,
    admin: JSON.parse(await readFile(join(dataDir, 'admin.json'), 'utf8')) as AdminCredentials,
    passedGate: (ids) => eventually(() => assertAll(ids, (id) => gate.has(id), 'have not passed the gate')),
    holdAfterBody: (userId) => body.hold(userId),
    stop: async () => {
      jest.restoreAllMocks()
      for (const { http2, grpc } of [first!, second!]) for (const session of [http2, grpc]) session.destroy()
      await database.close()
      await Promise.all([one.stop(), other.stop()])
      await postgres.stop()
      await removeFolder(dataDir)
      const errors = log.lines.filter((line) => line.startsWith('error'))
      if (errors.length > 0) throw new Error(`a request made a server fail:\n${errors.join('\n')}`)
    },
  }
}

const SETTINGS = {
  KEYTURN_LISTEN: '127.0.0.1:0',
  KEYTURN_METRICS_LISTEN: 'off',
  KEYTURN_ACTIVATION_GUARD: 'off',
  KEYTURN_MASTER_KEYS: generateMasterKey(),
}

function withRequests(log: RecordingLog): ServerLog {
  return {
    ...log,
    requests: { info: () => {}, debug: () => {}, isLevelEnabled: () => false },
    written: async () => true,
  }
}

/** The ids of held calls whose caller has been authenticated. What the gate does after that, it does at once. */
function watchGate(): ReadonlySet<string> {
  const seen = new Set<string>()
  const identified = RequestContexts.prototype.identified
  jest.spyOn(RequestContexts.prototype, 'identified').mockImplementation(function (this: RequestContexts, ...args) {
    const id = (args[0] as IncomingMessage).headers[HELD_CALL]
    if (typeof id === 'string') seen.add(id)
    return identified.apply(this, args)
  })
  return seen
}

/** Holds calls that have been let through after the body. */
function watchBody(): { hold(userId: string): HeldUser } {
  const held = new Map<string, (() => void)[]>()
  const check = Access.prototype.reauthorize
  jest.spyOn(Access.prototype, 'reauthorize').mockImplementation(async function (this: Access, authority) {
    const checked = await check.call(this, authority)
    const calls = held.get(authority.userId)
    if (calls !== undefined) await new Promise<void>((resolve) => calls.push(resolve))
    return checked
  })
  return {
    hold: (userId) => {
      const calls: (() => void)[] = []
      held.set(userId, calls)
      return {
        passedBody: (count) =>
          eventually(() => assertAll([userId], () => calls.length === count, `has not made ${count} calls`)),
        release: () => calls.shift()?.(),
      }
    },
  }
}

function assertAll(ids: readonly string[], holds: (id: string) => boolean, otherwise: string): void {
  const missing = ids.filter((id) => !holds(id))
  if (missing.length > 0) throw new Error(`${missing.join(', ')} ${otherwise}`)
}
