/**
 * A replica that hangs in the middle of a change must not block the changes of others.
 *
 * No test measures time. Without the timeouts of the server, the change of the other replica fails: it waits for 10 s at most,
 * and the hanging replicas hang for longer.
 */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { planRevocation } from '../../../src/domain/keys/key-ring.ts'
import { createConfigurationStore } from '../../../src/storage/configuration/configuration-store.ts'
import { createInstanceInitializer } from '../../../src/storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { eventually } from '../../support/eventually.ts'
import { newInstanceContent } from '../../support/instance-content.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { newKeyPair } from '../../support/keys.ts'
import { createRecordingLog } from '../../support/log.ts'
import { type PostgresVersion, startPostgres, type TestPostgres } from '../../support/postgres.ts'
import { type FreezePoint, type StatementProxy, startStatementProxy } from '../../support/statement-proxy.ts'
import { describeUnless } from '../../support/unless.ts'

const NO_SUBJECT = { projects: [], users: [], audiences: [], kept: [], issuers: [], label: null }
const NO_PLAN = { version: 0, changes: [], takenOver: [], trustedIssuers: [], users: [] }
const unknown = expect.objectContaining({ name: 'DomainError', code: 'change_outcome_unknown' })
const unavailable = expect.objectContaining({ name: 'DomainError', code: 'storage_unavailable' })

/** A server, and at which of the statements of a change a replica freezes there. */
export interface FrozenClientOptions extends Required<PostgresVersion> {
  readonly obstacle?: string | undefined
  readonly points: readonly FreezePoint[]
  /** Each one; or the first and the last ones, and one of those between that are alike. */
  readonly at: 'every statement' | 'telling statements'
  /** A server that there is already. */
  readonly shared?: () => TestPostgres
}

export function describeFrozenClient({ version, obstacle, points, at, shared }: FrozenClientOptions): void {
  describeUnless(obstacle)(`a replica that freezes, on PostgreSQL from ${version}`, () => {
    let postgres: TestPostgres
    let template: string
    let leaked: string
    /** What a change is made of, in the order in which the server gets it. */
    let statements: readonly string[]
    const cleanups: (() => Promise<unknown>)[] = []

    const open = async (url: string, maxConnections?: number): Promise<Database> => {
      const database = await openDatabase({ url, log: createRecordingLog(), maxConnections })
      cleanups.unshift(() => database.close())
      return database
    }
    const openFrozen = async (url: string, maxConnections?: number): Promise<[Database, StatementProxy]> => {
      const proxy = await startStatementProxy(Number(new URL(url).port))
      cleanups.unshift(() => proxy.close())
      return [await open(url.replace(/:\d+\//, `:${proxy.port}/`), maxConnections), proxy]
    }
    const sessions = (url: string): Promise<{ pid: number }[]> =>
      postgres.query(`select pid from pg_stat_activity where datname = $1 and application_name = 'keyturn'`, [
        new URL(url).pathname.slice(1),
      ])
    const revoke = (database: Database, keyId: string) =>
      createKeyStore(database, TEST_MACS).update(
        anEntry('revoke'),
        (ring, now) => planRevocation(ring, keyId, { now, jwksMaxAgeSeconds: 300, replacement: undefined })!,
      )

    beforeAll(async () => {
      postgres = shared?.() ?? (await startPostgres({ version }))
      const url = await postgres.createDatabase()
      template = new URL(url).pathname.slice(1)
      const [database, proxy] = await openFrozen(url)
      await migrate(database)
      await createInstanceInitializer(database).initialise(newInstanceContent(), async () => {})
      const { ring } = await createInstanceReader(database, TEST_MACS).load()
      leaked = ring[0]!.keyId
      const before = proxy.statements.length
      await keyOperations(database).create()
      statements = proxy.statements.slice(before)
      // A database that is in use cannot be copied.
      await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()))
    })
    afterEach(async () => {
      for (const cleanup of cleanups.splice(0)) await cleanup()
    })
    afterAll(async () => {
      await postgres?.stop()
    })

    /** Freezes a replica at a statement of a change, revokes a key with another one, and lets the first one go on. */
    async function scenario(statement: number, point: FreezePoint): Promise<object> {
      const url = await postgres.createDatabase(template)
      const [frozen, proxy] = await openFrozen(url)
      const pair = newKeyPair()
      const reached = proxy.freezeAt(statement, point)
      const created = keyOperations(frozen)
        .create(pair)
        .then(
          () => 'created' as const,
          (error: unknown) => error,
        )
      await reached
      const frozenSessions = await sessions(url)

      const other = await open(url)
      await revoke(other, leaked)
      // The client has not come back, so it is the server that ended its session.
      if (!isUntouched(statement, point)) {
        const pids = frozenSessions.map(({ pid }) => pid)
        await eventually(async () => {
          for (const { pid } of await sessions(url)) expect(pids).not.toContain(pid)
        })
      }
      proxy.thaw()
      const outcome = await created
      const { ring } = await createInstanceReader(other, TEST_MACS).load()
      const isThere = ring.some(({ keyId }) => keyId === pair.keyId)
      return { statement, point, outcome, isThere, isRevoked: !ring.some(({ keyId }) => keyId === leaked) }
    }

    /** Whether the transaction had not begun, or was committed: there is nothing then that the server has to end. */
    const isUntouched = (statement: number, point: FreezePoint): boolean =>
      statement === 1 ? point !== 'after' : statement === statements.length && point === 'after'

    /** Whether the client goes on with its commit, and gets no answer to that: it cannot know that it was undone. */
    const isAtCommit = (statement: number, point: FreezePoint): boolean =>
      statement === statements.length || (statement === statements.length - 1 && point === 'after')

    function expected(statement: number, point: FreezePoint): object {
      // A client that is cut off does not get to go on.
      const isDone = isUntouched(statement, point) && point !== 'cut'
      const outcome = isDone ? 'created' : isAtCommit(statement, point) ? unknown : unavailable
      return { statement, point, outcome, isThere: isDone, isRevoked: true }
    }

    it('lets another revoke a key, and has changed nothing itself, whatever statement it froze at (issue 11)', async () => {
      expect(statements.length).toBeGreaterThanOrEqual(8)
      expect(statements.at(0)).toMatch(/^start transaction/)
      expect(statements.at(1)).toContain('for update')
      expect(statements.at(-1)).toBe('commit')
      const { length } = statements
      const telling = [1, 2, 3, length - 1, length]
      const all = statements
        .map((_, index) => index + 1)
        .filter((statement) => at === 'every statement' || telling.includes(statement))
        .flatMap((statement) => points.map((point) => [statement, point] as const))
      const outcomes = await Promise.all(all.map(([statement, point]) => scenario(statement, point)))
      expect(outcomes).toEqual(all.map(([statement, point]) => expected(statement, point)))
    })

    if (version !== 'npm') return

    it('lets another make its change although it froze while it planned a configuration, which has more time', async () => {
      const url = await postgres.createDatabase(template)
      const [frozen, proxy] = await openFrozen(url)
      // A statement that only configurations have: it gives them more time.
      const limited = proxy.freezeAt(`set_config('transaction_timeout', '0', true)`, 'after')
      const applied = createConfigurationStore(frozen, TEST_MACS)
        .apply(anEntry('apply'), { subject: NO_SUBJECT, label: 'a label' }, () => ({ plan: NO_PLAN, resources: [] }))
        .catch((error: unknown) => error)
      await limited
      await revoke(await open(url), leaked)
      proxy.thaw()
      expect(await applied).toEqual(unavailable)
    })
  })
}
