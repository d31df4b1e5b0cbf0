import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { eventually } from '../../support/eventually.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { createRecordingLog } from '../../support/log.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { describeUnless } from '../../support/unless.ts'
import { type PgBouncer, startPgBouncer, WITHOUT_PGBOUNCER } from './pgbouncer.ts'
import { describeLockedChanges } from './store-contract.ts'

describeUnless(WITHOUT_PGBOUNCER)('pgbouncer in transaction mode', () => {
  let postgres: TestPostgres | undefined
  const bouncers: PgBouncer[] = []
  const opened: Database[] = []

  const open = async (statementTimeoutMillis?: number): Promise<Database> => {
    const bouncer = await startPgBouncer(await postgres!.createDatabase())
    bouncers.push(bouncer)
    const log = createRecordingLog()
    const database = await openDatabase({
      url: bouncer.url,
      log,
      changeFeed: 'poll',
      statementTimeoutMillis,
    })
    opened.push(database)
    return database
  }

  beforeAll(() => {
    postgres = sharedPostgres()
  })
  afterAll(async () => {
    for (const database of opened) await database.close()
    for (const bouncer of bouncers) await bouncer.stop()
    await postgres?.stop()
  })

  describeLockedChanges('PostgreSQL behind pgbouncer', () => open())

  it('runs migrations once when several replicas ask at once', async () => {
    const database = await open()
    const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database)))
    expect(results.filter((names) => names.length > 0)).toEqual([expect.arrayContaining(['0001-initial-schema'])])
  })

  it('limits the time of each statement, in a transaction or not, and leaves no setting behind', async () => {
    const { db, serving } = await open(200)
    const slow = sql`select pg_sleep(60)`
    for (const run of [
      () => slow.execute(db),
      () => slow.execute(serving),
      () => db.transaction().execute((trx) => slow.execute(trx)),
    ]) {
      // The client waits for a second longer than the server, and that may be slow.
      await eventually(() => expect(run()).rejects.toMatchObject({ code: '57014' }))
    }
    const limit = sql<{ statement_timeout: string }>`show statement_timeout`
    await eventually(async () => expect((await limit.execute(db)).rows).toEqual([{ statement_timeout: '200ms' }]))
    const others = bouncers.at(-1)?.url
    expect(await postgres!.query('show statement_timeout', [], others)).toEqual([{ statement_timeout: '0' }])
  })

  it('lets a replica read while administration waits for a lock', async () => {
    const database = await open()
    await migrate(database)
    const keys = keyOperations(database)
    await database.db.transaction().execute(async (trx) => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
      await sql`select 1 from instance for update`.execute(trx)
      expect((await createInstanceReader({ db: database.serving }, TEST_MACS).load()).version).toBe(0)
    })
    await keys.create()
    expect((await createInstanceReader({ db: database.serving }, TEST_MACS).load()).version).toBe(1)
  })
})
