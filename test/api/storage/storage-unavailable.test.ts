import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import pg from 'pg'
import type { DomainError } from '../../../src/domain/errors.ts'
import { WHOLE_INSTANCE } from '../../../src/domain/identities/reach.ts'
import { createAuditLog } from '../../../src/storage/events/audit-log.ts'
import { createCredentialUses } from '../../../src/storage/identities/credential-uses.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceInitializer } from '../../../src/storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { newInstanceContent } from '../../support/instance-content.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { createRecordingLog, type RecordingLog } from '../../support/log.ts'
import { TEST_PASSWORD } from '../../support/new-database.ts'
import { startPostgres, type TestPostgres } from '../../support/postgres.ts'

/** A statement timeout that is short for tests, in milliseconds. What must succeed is tried again: the database may be slow for that long. */
const SHORT = 1_000

const unavailable = expect.objectContaining({ name: 'DomainError', code: 'storage_unavailable' })

describe('a database that is not available', () => {
  let postgres: TestPostgres | undefined
  let url: string
  let log: RecordingLog
  const cleanups: (() => Promise<unknown>)[] = []

  const open = async (address: string, statementTimeoutMillis?: number): Promise<Database> => {
    const database = await openDatabase({ url: address, log, statementTimeoutMillis })
    cleanups.unshift(() => database.close())
    return database
  }
  /** Holds the lock of the instance while something is done, without the limits of a change. */
  const whileLocked = async (work: () => Promise<void>): Promise<void> => {
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    try {
      await holder.query('begin; select 1 from instance for update')
      await work()
    } finally {
      await holder.end()
    }
  }
  const onPort = (port: number) => url.replace(/:\d+\//, `:${port}/`)

  beforeAll(async () => {
    postgres = await startPostgres()
    await postgres.query(`create role operator login password 'operator'`)
  })
  beforeEach(async () => {
    url = await postgres!.createMigratedDatabase()
    log = createRecordingLog()
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup()
  })
  afterAll(async () => {
    await postgres?.stop()
  })

  const everyCall = (database: Database): [string, () => Promise<unknown>][] => [
    ['KeyStore.update', () => keyOperations(database).look()],
    ['InstanceReader.load', () => createInstanceReader(database, TEST_MACS).load()],
    [
      'IdentityStore.listUsers',
      () =>
        createIdentityStore(database, TEST_MACS).listUsers(
          { projectId: null, search: '', reach: WHOLE_INSTANCE },
          { after: null, limit: 1 },
        ),
    ],
    [
      'AuditLog.list',
      () =>
        createAuditLog(database).list({ from: null, to: null, actor: null, resource: null }, { after: null, limit: 1 }),
    ],
    ['CredentialUses.useAssertionOnce', () => createCredentialUses(database).useAssertionOnce('x', new Date())],
    ['migrate', () => migrate(database)],
  ]

  it('fails every call with an error of its own, without a secret in the message', async () => {
    const database = await open(onPort(await freePort()))
    for (const [name, call] of everyCall(database)) {
      const error: unknown = await call().catch((thrown: unknown) => thrown)
      expect([name, error]).toEqual([name, unavailable])
      const { message, metadata, cause } = error as DomainError
      expect({ message, metadata }).toEqual({ message: 'the database is not available', metadata: {} })
      expect(cause).toMatchObject({ code: 'ECONNREFUSED' })
    }
  })

  it.each([['a wrong password', (good: string) => good.replace(TEST_PASSWORD, 'wrong-password')]])(
    'includes %s',
    async (_, spoil) => {
      const database = await open(spoil(url))
      const error: unknown = await createInstanceReader(database, TEST_MACS)
        .status()
        .catch((thrown: unknown) => thrown)
      expect(error).toEqual(unavailable)
      expect(String((error as DomainError).cause)).not.toContain('wrong-password')
    },
  )

  it.each(['nonsense', 'postgresql://user:secret@host:port/x'])(
    'is not what a URL means that cannot be read: %s',
    async (bad) => {
      const error: unknown = await open(bad).catch((thrown: unknown) => thrown)
      expect(String(error)).toContain('the database URL cannot be read')
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('secret')
    },
  )

  it('rolls a change back, and does not end the process, when its connection is killed in the middle', async () => {
    const initializer = createInstanceInitializer(await open(url))
    const killed = initializer.initialise(newInstanceContent(), async () => {
      const others = 'from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()'
      const name = new URL(url).pathname.slice(1)
      await postgres!.query(`select pg_terminate_backend(pid, 5000) ${others}`, [name])
    })
    await expect(killed).rejects.toEqual(unavailable)
    expect(await initializer.isInitialised()).toBe(false)
    expect(await initializer.initialise(newInstanceContent(), async () => {})).toBe(true)
  })

  it('is the error of a lock that is held too long, until it is free', async () => {
    const keys = keyOperations(await open(url, SHORT))
    await whileLocked(() => expect(keys.look()).rejects.toEqual(unavailable))
    expect((await eventually(() => keys.look())).ring).toEqual([])
  })

  it('does not keep a replica from reading when administration has used up its connections', async () => {
    const database = await open(url)
    const waiting: Promise<unknown>[] = []
    await whileLocked(async () => {
      const { administration } = database.pools()
      expect(administration).toEqual({ total: 0, idle: 0, waiting: 0 })
      const looks = Array.from({ length: 9 }, () => keyOperations(database).look())
      await eventually(() => expect(database.pools().administration).toEqual({ total: 5, idle: 0, waiting: 4 }))
      expect((await createInstanceReader({ db: database.serving }, TEST_MACS).status()).version).toBe(0)
      expect(database.pools().serving).toEqual({ total: 1, idle: 1, waiting: 0 })
      waiting.push(...looks)
    })
    await Promise.all(waiting)
  })

  it('is the error of too many conflicts, and a few conflicts are retried with a new decision', async () => {
    const database = await open(url)
    await sql`create sequence attempts`.execute(database.db)
    const conflictUntil = async (attempt: number) => {
      await sql`alter sequence attempts restart`.execute(database.db)
      await sql`
        create or replace function conflict() returns trigger language plpgsql as $$ begin
          if nextval('attempts') < ${sql.lit(attempt)} then
            raise exception 'conflict' using errcode = 'serialization_failure';
          end if;
          return new;
        end $$`.execute(database.db)
    }
    await conflictUntil(3)
    await sql`create trigger conflict before insert on web_keys for each row execute function conflict()`.execute(
      database.db,
    )
    const keys = keyOperations(database)
    await keys.create()
    expect((await keys.look()).ring).toHaveLength(1)

    await conflictUntil(1_000)
    await expect(keys.create()).rejects.toEqual(unavailable)
    expect((await keys.look()).ring).toHaveLength(1)
  })

  it('is the error of a server that takes no writes, whose connections are evicted', async () => {
    const name = new URL(url).pathname.slice(1)
    const pidOf = async ({ serving }: Database) =>
      (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(serving)).rows[0]?.pid
    await postgres!.query(`alter database ${name} set default_transaction_read_only = on`)
    const database = await open(url)
    const standby = await pidOf(database)
    await expect(keyOperations(database).create()).rejects.toEqual(unavailable)

    // From here on the address leads to another server, for new connections.
    await postgres!.query(`alter database ${name} reset default_transaction_read_only`)
    await keyOperations(database).create()
    expect(await pidOf(database)).not.toBe(standby)
  })
})
